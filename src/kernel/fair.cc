// The fair class: its order, and what an idle CPU does to find work on others.
#include "idlesim/kernel/fair.h"

#include <algorithm>

#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

// Linux: kernel/sched/fair.c, update_curr().
// Not modelled: weights, groups, load tracking.
void update_curr(PerCpu& rq, Time now) {
  Task& curr = *rq.curr;
  if (&curr == &rq.idle) return;
  const Time ran = now - curr.exec_start;
  curr.exec_start = now;
  curr.vruntime += ran;
  curr.slice_used += ran;
  Time least = curr.vruntime;
  for (const Task* task : rq.runnable) least = std::min(least, task->vruntime);
  rq.min_vruntime = std::max(rq.min_vruntime, least);
}

// Linux: kernel/sched/fair.c, enqueue_task_fair(), place_entity().
void enqueue_task_fair(PerCpu& rq, Task& task, Time now) {
  update_curr(rq, now);
  task.vruntime = std::max(task.vruntime, rq.min_vruntime - sysctl_sched_base_slice);
  rq.runnable.push_back(&task);
}

// Linux: kernel/sched/fair.c, pick_task_fair(), set_next_entity().
Task* pick_task_fair(PerCpu& rq, Time now) {
  const auto less = [](const Task* a, const Task* b) { return a->vruntime < b->vruntime; };
  const auto first = std::min_element(rq.runnable.begin(), rq.runnable.end(), less);
  if (first == rq.runnable.end()) return nullptr;
  Task* task = *first;
  rq.runnable.erase(first);
  rq.min_vruntime = std::max(rq.min_vruntime, task->vruntime);
  task->exec_start = now;
  task->slice_used = {};
  return task;
}

// Linux: kernel/sched/fair.c, check_preempt_wakeup_fair().
bool wakeup_preempt_fair(PerCpu& rq, const Task& woken, Time now) {
  update_curr(rq, now);
  return rq.curr->vruntime - woken.vruntime > sysctl_sched_wakeup_granularity;
}

// Linux: kernel/sched/fair.c, task_tick_fair(), update_deadline().
bool slice_is_over(PerCpu& rq, Time now) {
  update_curr(rq, now);
  const Task& curr = *rq.curr;
  if (curr.slice_used < sysctl_sched_base_slice) return false;
  return std::any_of(rq.runnable.begin(), rq.runnable.end(),
                     [&](const Task* task) { return task->vruntime < curr.vruntime; });
}

// Linux: kernel/sched/fair.c, migrate_task_rq_fair().
void migrate_task_fair(PerCpu& from, PerCpu& to, Task& task) {
  task.vruntime += to.min_vruntime - from.min_vruntime;
}

namespace {

// Linux: kernel/sched/fair.c, update_sd_lb_stats(): reads the run queue of every CPU of the domain.
// True if one of them has two runnable tasks.
Co<bool> update_sd_lb_stats(Cpu& cpu, const SchedDomain& domain) {
  Kernel& kernel = kernel_of(cpu);
  const SchedDomain& sd = domain;
  bool overloaded = false;
  for (CpuId other : sd.span) {
    PerCpu& rq = kernel.per_cpu(other);
    co_await exec(cpu, Path::newidle_balance_per_cpu);
    const std::uint64_t nr_running = co_await read_once(cpu, rq.nr_running);
    co_await read_once(cpu, rq.cfs);
    if (nr_running == 0) co_await read_once(cpu, rq.rq_curr);  // idle_cpu()
    overloaded = overloaded || nr_running > 1;
  }
  co_return overloaded;
}

// Linux: kernel/sched/fair.c, sched_balance_rq(), as far as nothing can be pulled: the tasks of the
// background process are pinned.
Co<> balance_domain(Cpu& cpu, SchedDomain& domain, bool root_domain) {
  Kernel& kernel = kernel_of(cpu);
  SchedDomain& sd = domain;
  co_await exec(cpu, Path::newidle_balance_per_domain);
  const bool overloaded = co_await update_sd_lb_stats(cpu, sd);
  if (!root_domain) co_return;
  const std::uint64_t status = overloaded ? 1 : 0;
  if (co_await read_once(cpu, kernel.rd_overloaded) != status)
    co_await write_once(cpu, kernel.rd_overloaded, status);
}

// Linux: kernel/sched/fair.c, nohz_newidle_balance(): looks whether anybody's blocked load is old.
// Not modelled: the walk that NOHZ_NEWILB_KICK would start in the next do_idle().
Co<> nohz_newidle_balance(Cpu& cpu) {
  PerCpu& rq = this_cpu(cpu);
  const Time sysctl_sched_migration_cost = Time::us(500);
  if (rq.avg_idle < sysctl_sched_migration_cost) co_return;
  co_await read_once(cpu, rq.kernel->nohz_has_blocked);
}

}  // namespace

// Linux: kernel/sched/fair.c, sched_balance_newidle(); newidle_balance() before 6.12.
// Not modelled: decay of the domains' costs, NI_RANDOM.
Co<int> sched_balance_newidle(Cpu& cpu) {
  PerCpu& rq = this_cpu(cpu);
  Kernel& kernel = *rq.kernel;
  int walked = 0;
  if (co_await read_once(cpu, rq.ttwu_pending) != 0) co_return walked;
  rq.idle_stamp = cpu.now();
  const bool overloaded = co_await read_once(cpu, kernel.rd_overloaded) != 0;
  if (!overloaded || rq.domains.empty() || rq.avg_idle < rq.domains[0].max_newidle_lb_cost) {
    co_await exec(cpu, Path::newidle_balance_early_exit);
    co_await nohz_newidle_balance(cpu);
    co_return walked;
  }

  co_await exec(cpu, Path::newidle_balance_walk_head);
  co_await spin_unlock(cpu, rq.rq_lock);
  Time curr_cost;
  for (SchedDomain& sd : rq.domains) {
    if (rq.avg_idle < curr_cost + sd.max_newidle_lb_cost) break;
    const Time started = cpu.now();
    co_await balance_domain(cpu, sd, &sd == &rq.domains.back());
    walked += sd.span.weight();
    const Time domain_cost = cpu.now() - started;
    sd.max_newidle_lb_cost = std::max(sd.max_newidle_lb_cost, domain_cost);
    curr_cost += domain_cost;
    if (!rq.runnable.empty() || co_await read_once(cpu, rq.ttwu_pending) != 0) break;
  }
  co_await spin_lock(cpu, rq.rq_lock);
  co_await exec(cpu, Path::newidle_balance_walk_tail);
  if (rq.runnable.empty()) co_await nohz_newidle_balance(cpu);
  co_return walked;
}

}  // namespace idlesim::kernel
