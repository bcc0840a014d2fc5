// What a machine's trace told, kept for a test to look at.
#ifndef IDLESIM_TESTS_SUPPORT_RECORD_H_
#define IDLESIM_TESTS_SUPPORT_RECORD_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "idlesim/trace/trace.h"

namespace idlesim::testing {

// Everything that was traced.
class Record final : public trace::Listener {
 public:
  std::uint32_t wants() const override { return ~std::uint32_t{0}; }
  void on(const trace::LineTransfer& e) override { transfers.push_back(e); }
  void on(const trace::IpiSent& e) override { sent.push_back(e); }
  void on(const trace::IpiElided& e) override { elided.push_back(e); }
  void on(const trace::InterruptTaken& e) override {
    taken.push_back(e);
    if (when_taken) when_taken(e);
  }
  void on(const trace::IdleEnter& e) override { enters.push_back(e); }
  void on(const trace::IdleExit& e) override { exits.push_back(e); }
  void on(const trace::CallDone& e) override { calls.push_back(e); }
  void on(const trace::ScheduleIdle& e) override { schedules.push_back(e); }
  void on(const trace::Switch& e) override { switches.push_back(e); }
  void on(const trace::Wakeup& e) override { wakeups.push_back(e); }
  void on(const trace::CallStarted& e) override { started.push_back(e); }
  void on(const trace::PollDone& e) override { polls.push_back(e); }
  void on(const trace::EventWait& e) override { event_waits.push_back(e); }
  void on(const trace::MsrWrite& e) override { msr_writes.push_back(e); }
  void on(const trace::CoreIdle& e) override { core_states.push_back(e); }
  void clear() {
    transfers.clear();
    sent.clear();
    elided.clear();
    taken.clear();
    enters.clear();
    exits.clear();
    calls.clear();
    schedules.clear();
    switches.clear();
    wakeups.clear();
    started.clear();
    polls.clear();
    event_waits.clear();
    msr_writes.clear();
    core_states.clear();
  }

  std::function<void(const trace::InterruptTaken&)> when_taken;
  std::vector<trace::LineTransfer> transfers;
  std::vector<trace::IpiSent> sent;
  std::vector<trace::IpiElided> elided;
  std::vector<trace::InterruptTaken> taken;
  std::vector<trace::IdleEnter> enters;
  std::vector<trace::IdleExit> exits;
  std::vector<trace::CallDone> calls;
  std::vector<trace::ScheduleIdle> schedules;
  std::vector<trace::Switch> switches;
  std::vector<trace::Wakeup> wakeups;
  std::vector<trace::CallStarted> started;
  std::vector<trace::PollDone> polls;
  std::vector<trace::EventWait> event_waits;
  std::vector<trace::MsrWrite> msr_writes;
  std::vector<trace::CoreIdle> core_states;
};

// Events that concern one CPU.
template <class Event>
int count_on(const std::vector<Event>& events, CpuId cpu) {
  return static_cast<int>(
      std::count_if(events.begin(), events.end(), [&](const Event& e) { return e.cpu == cpu; }));
}
template <class Event>
int count_to(const std::vector<Event>& events, CpuId to) {
  return static_cast<int>(
      std::count_if(events.begin(), events.end(), [&](const Event& e) { return e.to == to; }));
}

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_SUPPORT_RECORD_H_
