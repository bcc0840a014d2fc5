// What a CPU does, for people.
#include <string>
#include <string_view>

#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

namespace {

// "Co<> idlesim::kernel::poll_idle(Cpu&, int)" or "poll_idle": compilers differ.
std::string bare_name(std::string_view function) {
  function = function.substr(0, function.find('('));
  return std::string(function.substr(function.find_last_of(": ") + 1));
}

}  // namespace

std::string Cpu::story() const {
  if (wait_ == Wait::kOff) return {};
  const std::string file = where_.file_name();
  std::string text = file.substr(file.rfind('/') + 1) + ":" + std::to_string(where_.line()) + " " +
                     bare_name(where_.function_name()) + "(), ";
  const auto line_of = [this](const Word* word) {
    return machine_.physical().line_names()[word->line().name()];
  };
  switch (wait_) {
    case Wait::kOff:
    case Wait::kRunning:
      text += "running";
      break;
    case Wait::kExec:
    case Wait::kFinish:
      text += "executing";
      break;
    case Wait::kMemory:
      text += "waiting for line " + line_of(op_.word);
      break;
    case Wait::kDrain:
      text += "waiting for its store buffer";
      break;
    case Wait::kSpin:
      text += "spinning on " + line_of(spin_.word);
      break;
    case Wait::kGate:
      text += op_.word != nullptr ? "about to access line " + line_of(op_.word)
                                  : std::string("about to halt");
      break;
    case Wait::kGuest:
      text += "executing a guest";
      break;
    case Wait::kPaused:
      text += "not executing: its host does not let it";
      break;
    case Wait::kHalt:
      text += monitored_ != nullptr
                  ? "asleep, monitoring " + machine_.physical().line_names()[monitored_->name()]
                  : std::string("asleep");
      break;
  }
  text += irq_enabled_ ? ", interrupts on" : ", interrupts off";
  for (int vector = 0; vector < kVectors; ++vector)
    if (pending_ >> vector & 1)
      text += std::string(", pending ") + to_string(static_cast<Vector>(vector));
  return text;
}

}  // namespace idlesim::hw
