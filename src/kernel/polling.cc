// TIF_POLLING_NRFLAG, TIF_NEED_RESCHED and TIF_NOTIFY_IPI of the running idle task.
#include "idlesim/kernel/idle.h"

namespace idlesim::kernel {

namespace {

// Is a bit of the mask set?
struct TestBits : Cpu::Load {
  std::uint64_t mask;
  bool await_resume() const { return (Load::await_resume() & mask) != 0; }
};
TestBits test_bits(Cpu& cpu, Word& word, std::uint64_t mask,
                   SourceLocation where = SourceLocation::current()) {
  return {read_once(cpu, word, where), mask};
}

}  // namespace

// Linux: include/linux/sched.h, need_resched().
Co<bool> need_resched(Cpu& cpu) {
  return sim::start(test_bits(cpu, this_cpu(cpu).curr->flags, TIF_NEED_RESCHED));
}

// Linux: include/linux/sched.h, need_resched(); with the 2024 series need_resched_or_ipi(). Also
// what is left of current_set_polling_and_test() and its twin without TIF_POLLING_NRFLAG.
Co<bool> idle_exit_pending(Cpu& cpu) {
  return sim::start(test_bits(cpu, this_cpu(cpu).idle.flags, ops_of(cpu).idle_exit_flags));
}

// Linux: include/linux/sched/idle.h, __current_set_polling().
Co<> current_set_polling(Cpu& cpu) {
  return sim::start(set_bits(cpu, this_cpu(cpu).idle.flags, TIF_POLLING_NRFLAG));
}

// Linux: include/linux/sched/idle.h, __current_clr_polling().
Co<> current_clr_polling(Cpu& cpu) {
  return sim::start(clear_bits(cpu, this_cpu(cpu).idle.flags, TIF_POLLING_NRFLAG));
}

// Linux: include/linux/sched/idle.h, current_set_polling_and_test().
Co<bool> current_set_polling_and_test(Cpu& cpu) {
  Word& flags = this_cpu(cpu).idle.flags;
  co_await set_bits(cpu, flags, TIF_POLLING_NRFLAG);
  co_await smp_mb__after_atomic(cpu);
  co_return co_await test_bits(cpu, flags, ops_of(cpu).idle_exit_flags);
}

// Linux: include/linux/sched/idle.h, current_clr_polling_and_test().
Co<bool> current_clr_polling_and_test(Cpu& cpu) {
  Word& flags = this_cpu(cpu).idle.flags;
  co_await clear_bits(cpu, flags, TIF_POLLING_NRFLAG);
  co_await smp_mb__after_atomic(cpu);
  co_return co_await test_bits(cpu, flags, ops_of(cpu).idle_exit_flags);
}

// Linux: include/linux/sched/idle.h, current_clr_polling(): also folds TIF_NEED_RESCHED.
Co<> current_clr_polling_and_fold(Cpu& cpu) {
  Word& flags = this_cpu(cpu).idle.flags;
  co_await ops_of(cpu).current_clr_polling(cpu);
  co_await smp_mb(cpu);
  co_await read_once(cpu, flags);
}

// Linux: RFC PATCH of 13 Jun 2024, current_clr_notify_ipi().
Co<> current_clr_notify_ipi(Cpu& cpu) {
  return sim::start(clear_bits(cpu, this_cpu(cpu).idle.flags, TIF_NOTIFY_IPI));
}

// Linux: include/linux/sched/idle.h, __current_set_polling() without TIF_POLLING_NRFLAG.
Co<> no_polling(Cpu&) { return Co<>::ended(); }

}  // namespace idlesim::kernel
