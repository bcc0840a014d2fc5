// newidle balancing: what an idle CPU does to find work on others.
#include <algorithm>

#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

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
