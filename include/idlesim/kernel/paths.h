// Named segments of straight-line kernel code. Their instruction counts stand in
// sim-configs/kernels/*.json; this list says which of a segment's atomics, barriers and privileged
// instructions the model executes itself, on the line concerned, so that they are not charged
// twice. The others hit lines that no other CPU touches and are charged at the machine's private
// cost.
#ifndef IDLESIM_KERNEL_PATHS_H_
#define IDLESIM_KERNEL_PATHS_H_

#include <cstddef>
#include <cstdint>

namespace idlesim::kernel {

// X(name, atomics, barriers, privileged): the numbers executed by the model.
#define IDLESIM_PATHS(X)                            \
  /* idle.c, cpuidle */                             \
  X(do_idle_head, 1, 0, 0)                          \
  X(tick_nohz_idle_enter, 0, 0, 0)                  \
  X(do_idle_loop_head, 0, 0, 0)                     \
  X(do_idle_loop_head_poll, 0, 0, 0)                \
  X(cpuidle_idle_call_head, 0, 0, 0)                \
  X(cpuidle_idle_call_head_cpuidle, 0, 0, 0)        \
  X(tick_nohz_idle_retain_tick, 0, 0, 0)            \
  X(tick_nohz_idle_stop_tick, 0, 0, 1)              \
  X(tick_nohz_idle_stop_tick_again, 0, 0, 0)        \
  X(menu_select, 0, 0, 0)                           \
  X(menu_select_timer_query, 0, 0, 0)               \
  X(menu_reflect, 0, 0, 0)                          \
  X(teo_select, 0, 0, 0)                            \
  X(ladder_select, 0, 0, 0)                         \
  X(haltpoll_select, 0, 0, 0)                       \
  X(haltpoll_enter_idle, 1, 1, 0)                   \
  X(cpuidle_tick_decision, 0, 0, 0)                 \
  X(default_idle_call_head, 1, 0, 0)                \
  X(default_idle_call_tail, 0, 0, 0)                \
  X(call_cpuidle, 1, 0, 0)                          \
  X(cpuidle_enter_state_head, 0, 0, 0)              \
  X(cpuidle_enter_state_tail, 0, 0, 0)              \
  X(ct_cpuidle_enter, 0, 0, 0)                      \
  X(ct_cpuidle_exit, 0, 0, 0)                       \
  X(arch_cpu_idle_hlt, 0, 0, 1)                     \
  X(arch_cpu_idle_hlt_tail, 0, 0, 0)                \
  X(arch_cpu_idle_mwait_head, 1, 0, 0)              \
  X(arch_cpu_idle_mwait, 0, 0, 2)                   \
  X(mwait_idle_tail, 1, 0, 0)                       \
  X(intel_idle_head, 1, 0, 0)                       \
  X(intel_idle_mwait, 0, 0, 2)                      \
  X(intel_idle_tail, 1, 1, 0)                       \
  X(acpi_idle_mwait_extra, 0, 0, 0)                 \
  X(acpi_idle_hlt, 0, 0, 1)                         \
  X(acpi_idle_hlt_tail, 0, 0, 0)                    \
  X(arch_cpu_idle_wfi, 0, 1, 1)                     \
  X(arch_cpu_idle_wfi_tail, 0, 0, 0)                \
  X(cpuidle_idle_call_tail, 1, 0, 0)                \
  X(do_idle_loop_tail, 0, 0, 0)                     \
  X(do_idle_loop_tail_resched, 0, 0, 0)             \
  X(tick_nohz_idle_exit, 0, 0, 0)                   \
  X(tick_nohz_idle_exit_after_irq, 0, 0, 0)         \
  X(tick_nohz_restart, 0, 0, 1)                     \
  X(clear_polling, 1, 1, 0)                         \
  X(cpu_idle_poll_enter, 0, 0, 0)                   \
  X(cpu_idle_poll_loop, 0, 0, 0)                    \
  X(cpu_idle_poll_exit, 0, 0, 0)                    \
  X(poll_idle_head, 1, 1, 0)                        \
  X(poll_idle_loop, 0, 0, 0)                        \
  X(poll_idle_clock_check, 0, 0, 0)                 \
  X(poll_idle_tail, 1, 1, 0)                        \
  /* smp.c */                                       \
  X(smp_call_function_single_head, 0, 0, 0)         \
  X(smp_call_function_single_tail, 0, 0, 0)         \
  X(llist_add, 1, 0, 0)                             \
  X(send_call_function_single_ipi_polling, 1, 0, 0) \
  X(send_call_function_single_ipi_ipi, 0, 0, 1)     \
  X(csd_lock_wait_loop, 0, 0, 0)                    \
  X(csd_unlock, 0, 0, 0)                            \
  X(smp_call_function_many_cond_head, 0, 0, 0)      \
  X(smp_call_function_many_cond_per_cpu, 1, 0, 0)   \
  X(smp_call_function_many_cond_ipi, 0, 0, 1)       \
  X(smp_call_function_many_cond_tail, 0, 0, 0)      \
  X(flush_smp_call_function_queue_empty, 0, 0, 0)   \
  X(flush_smp_call_function_queue_head, 0, 0, 0)    \
  X(flush_smp_call_function_queue_tail, 0, 0, 0)    \
  X(flush_queue_head, 1, 0, 0)                      \
  X(flush_queue_sync_entry, 0, 0, 0)                \
  X(flush_queue_async_entry, 0, 0, 0)               \
  X(flush_queue_ttwu_entry, 0, 0, 0)                \
  X(flush_queue_tail, 0, 0, 0)                      \
  /* interrupts */                                  \
  X(irq_entry, 0, 0, 1)                             \
  X(irq_entry_rcu_watching, 0, 0, 1)                \
  X(irq_entry_tick_stopped, 0, 0, 0)                \
  X(irq_entry_from_kernel, 0, 0, 1)                 \
  X(sysvec_call_function_single_body, 0, 0, 0)      \
  X(irq_exit, 0, 0, 1)                              \
  X(irq_exit_rcu_watching, 0, 0, 1)                 \
  X(irq_exit_stay_idle, 0, 0, 0)                    \
  X(irq_exit_from_kernel, 0, 0, 1)                  \
  X(reschedule_ipi, 0, 0, 2)                        \
  X(timer_interrupt_tick, 1, 0, 3)                  \
  X(timer_interrupt_tick_idle, 1, 0, 3)             \
  X(timer_interrupt_hrtimer_wakeup, 2, 0, 3)        \
  X(gic_ack, 0, 0, 1)                               \
  X(generic_irq_layer, 0, 0, 0)                     \
  X(ipi_handler, 0, 0, 0)                           \
  X(generic_irq_layer_tail, 0, 0, 1)                \
  /* core.c, fair.c */                              \
  X(try_to_wake_up_head, 1, 0, 0)                   \
  X(select_task_rq_pinned, 0, 0, 0)                 \
  X(select_task_rq_fair, 0, 0, 0)                   \
  X(select_task_rq_fair_probe, 0, 0, 0)             \
  X(ttwu_queue_local, 1, 0, 0)                      \
  X(ttwu_queue_wakelist, 0, 0, 0)                   \
  X(ttwu_tail, 0, 0, 0)                             \
  X(sched_ttwu_pending_head, 1, 0, 0)               \
  X(ttwu_do_activate, 0, 0, 0)                      \
  X(ttwu_do_activate_others, 0, 0, 0)               \
  X(sched_ttwu_pending_tail, 0, 0, 0)               \
  X(resched_curr, 1, 0, 0)                          \
  X(resched_curr_already, 0, 0, 0)                  \
  X(schedule_head, 1, 0, 0)                         \
  X(dequeue_task, 0, 0, 0)                          \
  X(dequeue_task_others, 0, 0, 0)                   \
  X(pick_next_task_fair_none, 0, 0, 0)              \
  X(pick_next_task_fair, 1, 0, 0)                   \
  X(pick_next_task_fair_task, 1, 0, 0)              \
  X(pick_idle_put_prev, 1, 0, 0)                    \
  X(psi_task_switch_to_idle, 0, 0, 0)               \
  X(psi_task_switch_from_idle, 0, 0, 0)             \
  X(context_switch_to_idle, 1, 0, 0)                \
  X(context_switch_from_idle, 0, 0, 0)              \
  X(context_switch_task, 0, 0, 0)                   \
  X(context_switch_preempted, 0, 0, 0)              \
  X(switch_mm_irqs_off_same_lazy, 0, 0, 0)          \
  X(switch_mm_irqs_off_other, 0, 0, 0)              \
  X(enter_lazy_tlb, 0, 0, 0)                        \
  X(switch_to_idle_prepare, 0, 0, 0)                \
  X(switch_to_task_prepare, 0, 0, 0)                \
  X(switch_to_idle, 0, 0, 0)                        \
  X(switch_to_task, 0, 0, 0)                        \
  X(switch_task, 0, 0, 0)                           \
  X(finish_task_switch_to_idle, 0, 0, 0)            \
  X(finish_task_switch_from_idle, 1, 0, 0)          \
  X(finish_task_switch_task, 0, 0, 0)               \
  X(schedule_tail, 0, 0, 0)                         \
  X(schedule_tail_task, 0, 0, 0)                    \
  X(schedule_idle_head, 1, 0, 0)                    \
  X(update_rq_clock, 0, 0, 0)                       \
  X(schedule_idle_sm_idle, 1, 0, 0)                 \
  X(pick_next_task_idle_full, 0, 0, 0)              \
  X(schedule_idle_full_tail, 1, 0, 0)               \
  X(schedule_idle_tail, 0, 0, 0)                    \
  X(do_idle_return, 0, 0, 0)                        \
  X(newidle_balance_early_exit, 0, 0, 0)            \
  X(newidle_balance_walk_head, 1, 0, 0)             \
  X(newidle_balance_per_domain, 0, 0, 0)            \
  X(newidle_balance_per_cpu, 0, 0, 0)               \
  X(newidle_balance_walk_tail, 1, 0, 0)             \
  X(nanosleep_to_schedule, 0, 0, 1)                 \
  X(nanosleep_after_wake, 0, 0, 0)                  \
  /* pipe.c, system calls */                        \
  X(sys_write_entry, 0, 0, 0)                       \
  X(pipe_write_to_wakeup, 3, 0, 0)                  \
  X(pipe_write_wakeup_unwind, 0, 0, 0)              \
  X(pipe_write_no_waiter, 0, 0, 0)                  \
  X(sys_write_exit, 0, 0, 0)                        \
  X(sys_read_entry, 0, 0, 0)                        \
  X(pipe_read_to_schedule, 4, 1, 0)                 \
  X(pipe_read_after_wake, 5, 1, 0)                  \
  X(pipe_read_data_ready, 2, 0, 0)                  \
  X(sys_read_exit, 0, 0, 0)                         \
  X(exit_to_user_after_switch, 0, 0, 0)             \
  X(getppid, 0, 0, 0)                               \
  /* modules, programs */                           \
  X(ipistorm_loop, 0, 0, 0)                         \
  X(ipistorm_function, 0, 0, 0)                     \
  X(sched_pipe_loop, 0, 0, 0)

enum class Path : std::uint16_t {
#define IDLESIM_PATH(name, atomics, barriers, privileged) name,
  IDLESIM_PATHS(IDLESIM_PATH)
#undef IDLESIM_PATH
};

inline constexpr std::size_t kPaths = 0
#define IDLESIM_PATH(name, atomics, barriers, privileged) +1
    IDLESIM_PATHS(IDLESIM_PATH)
#undef IDLESIM_PATH
    ;

// What of a segment the model executes itself.
struct PathInfo {
  const char* name;
  std::int64_t atomics;
  std::int64_t barriers;
  std::int64_t privileged;
};
const PathInfo& path_info(Path path);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_PATHS_H_
