// The polling idle state in the forms it has had or was proposed to have. Rules: kernel-paths 1.6.
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

namespace {

// Linux: drivers/cpuidle/poll_state.c, POLL_IDLE_RELAX_COUNT.
constexpr std::uint32_t POLL_IDLE_RELAX_COUNT = 200;

// A loop of cpu_relax() that looks at the clock after `relaxes` rounds and leaves if it is past
// `deadline`. `tests`: of the flags, between two blocks of rounds.
Co<bool> relax_until(Cpu& cpu, std::uint32_t relaxes, std::uint32_t tests, Time deadline) {
  Word& flags = this_cpu(cpu).idle.flags;
  const Kernel& kernel = kernel_of(cpu);
  const hw::PathCost& check = kernel.cost(Path::poll_idle_clock_check);
  const hw::PathCost& test = kernel.cost(Path::poll_idle_loop);
  hw::SpinLoop loop = relax_loop(cpu, Path::poll_idle_loop, ops_of(cpu).idle_exit_flags);
  loop.check_every = relaxes;
  loop.check_time = check.time + test.time * tests;
  loop.check_instructions = check.instructions + test.instructions * tests;
  loop.deadline = deadline;
  co_return !co_await cpu.spin(flags, loop);
}

bool waits_for_events(Cpu& cpu) { return cpu.spec().arch == hw::Arch::kArm64; }

// arm64, smp_cond_load_relaxed(): waits in WFE until a flag is set, and looks at the clock before
// each `waits` waits but the first `unchecked`.
Co<bool> cmpwait_until(Cpu& cpu, std::uint32_t waits, std::uint32_t unchecked, Time deadline) {
  Word& flags = this_cpu(cpu).idle.flags;
  const std::uint64_t exit_flags = ops_of(cpu).idle_exit_flags;
  for (std::uint32_t left = unchecked;; --left) {
    const std::uint64_t val = co_await read_once(cpu, flags);
    if ((val & exit_flags) != 0) co_return false;
    if (left == 0) {
      co_await exec(cpu, Path::poll_idle_clock_check);
      if (cpu.now() > deadline) co_return true;
      left = waits;
    }
    co_await exec(cpu, Path::poll_idle_loop);
    co_await cmpwait_relaxed(cpu, flags, val);
  }
}

// arm64, smp_cond_load_relaxed_timeout(): waits until a flag is set, and looks at the clock after
// each wait. wfet: the wait itself ends when the time is over.
Co<bool> cmpwait_timeout(Cpu& cpu, Time limit, bool wfet) {
  Word& flags = this_cpu(cpu).idle.flags;
  const std::uint64_t exit_flags = ops_of(cpu).idle_exit_flags;
  for (Time now = cpu.now(); now < limit; now = cpu.now()) {
    const std::uint64_t val = co_await read_once(cpu, flags);
    if ((val & exit_flags) != 0) co_return false;
    co_await exec(cpu, Path::poll_idle_loop);
    if (wfet)
      co_await cmpwait_relaxed_timeout(cpu, flags, val, limit - now);
    else
      co_await cmpwait_relaxed(cpu, flags, val);
    co_await exec(cpu, Path::poll_idle_clock_check);
  }
  co_return true;
}

}  // namespace

// Linux: drivers/cpuidle/poll_state.c, poll_idle(). The counter is compared before it is
// incremented.
Co<bool> poll_relax_200(Cpu& cpu, Time time_start, std::int64_t limit_ns) {
  return relax_until(cpu, POLL_IDLE_RELAX_COUNT + 1, 0, time_start + Time::ns(limit_ns));
}

// Linux: drivers/cpuidle/poll_state.c, poll_idle() of v2 to v4 of the arm64 haltpoll series.
Co<bool> poll_cond_load_200(Cpu& cpu, Time time_start, std::int64_t limit_ns) {
  const Time deadline = time_start + Time::ns(limit_ns);
  if (waits_for_events(cpu))
    return cmpwait_until(cpu, POLL_IDLE_RELAX_COUNT, POLL_IDLE_RELAX_COUNT, deadline);
  return relax_until(cpu, POLL_IDLE_RELAX_COUNT, 2, deadline);
}

// Linux: drivers/cpuidle/poll_state.c, poll_idle() of v5 to v8. POLL_IDLE_RELAX_COUNT is 1 on
// arm64.
Co<bool> poll_cond_load_1(Cpu& cpu, Time time_start, std::int64_t limit_ns) {
  const Time deadline = time_start + Time::ns(limit_ns);
  if (waits_for_events(cpu)) co_return co_await cmpwait_until(cpu, 1, 0, deadline);
  co_await exec(cpu, Path::poll_idle_clock_check);
  if (cpu.now() > deadline) co_return true;
  const bool passed = co_await relax_until(cpu, POLL_IDLE_RELAX_COUNT, 2, deadline);
  if (!passed) co_return false;
  co_return !co_await idle_exit_pending(cpu);  // the flags are tested before the clock
}

// Linux: include/asm-generic/barrier.h, smp_cond_load_relaxed_timeout() of v9 and v10. Without an
// event stream arm64 relaxes, too.
Co<bool> poll_cond_load_timeout(Cpu& cpu, Time, std::int64_t limit_ns) {
  const Time limit = cpu.now() + Time::ns(limit_ns);
  if (waits_for_events(cpu) && kernel_of(cpu).config().event_stream)
    return cmpwait_timeout(cpu, limit, false);
  return relax_until(cpu, POLL_IDLE_RELAX_COUNT + 1, 0, limit - Time::ps(1));
}

// Linux: include/asm-generic/barrier.h, smp_cond_load_relaxed_timeout() of v8 of 2025-26;
// poll_idle() as tif_need_resched_relaxed_wait(). SMP_TIMEOUT_POLL_COUNT is 1 on arm64, which takes
// WFET where it exists, or WFE if there is an event stream.
Co<bool> poll_wfet(Cpu& cpu, Time, std::int64_t limit_ns) {
  const Time limit = cpu.now() + Time::ns(limit_ns);
  const bool wfet = cpu.spec().wfxt;
  bool passed = false;
  if (!waits_for_events(cpu))
    passed = co_await relax_until(cpu, POLL_IDLE_RELAX_COUNT, 0, limit - Time::ps(1));
  else if (wfet || kernel_of(cpu).config().event_stream)
    passed = co_await cmpwait_timeout(cpu, limit, wfet);
  else
    passed = co_await relax_until(cpu, 1, 0, limit - Time::ps(1));
  if (!passed) co_return false;
  co_return !co_await idle_exit_pending(cpu);  // the flags are read once more
}

// Linux: drivers/cpuidle/poll_state.c, poll_idle().
Co<int> poll_idle(Cpu& cpu, int index) {
  CpuidleDevice& dev = this_cpu(cpu).cpuidle;
  const KernelOps& ops = ops_of(cpu);
  const Time time_start = cpu.now();
  dev.poll_time_limit = false;

  co_await exec(cpu, Path::poll_idle_head);
  co_await cpu.local_irq_enable();
  if (!co_await ops.current_set_polling_and_test(cpu)) {
    const std::int64_t limit = cpuidle_poll_time(cpu);
    dev.poll_time_limit = co_await ops.poll_wait(cpu, time_start, limit);
    kernel_of(cpu).tracer().emit(trace::PollDone{
        time_start, cpu.now(), cpu.id, time_start + Time::ns(limit), dev.poll_time_limit});
  }
  cpu.local_irq_disable();

  co_await current_clr_polling_and_fold(cpu);
  co_await exec(cpu, Path::poll_idle_tail);
  co_return index;
}

}  // namespace idlesim::kernel
