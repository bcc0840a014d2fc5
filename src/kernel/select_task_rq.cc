// Where a woken task runs. Every look at another CPU's run queue is a load of its line.
#include <algorithm>

#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

// Linux: kernel/sched/syscalls.c, available_idle_cpu().
// Not modelled: vcpu_is_preempted().
Co<bool> available_idle_cpu(Cpu& cpu, CpuId other) {
  PerCpu& rq = kernel_of(cpu).per_cpu(other);
  if (co_await read_once(cpu, rq.rq_curr) != 0) co_return false;
  if (co_await read_once(cpu, rq.nr_running) != 0) co_return false;
  co_return co_await read_once(cpu, rq.ttwu_pending) == 0;
}

namespace {

PerCpu& rq_of(Cpu& cpu, CpuId other) { return kernel_of(cpu).per_cpu(other); }

bool cpus_share_cache(Cpu& cpu, CpuId a, CpuId b) { return rq_of(cpu, a).llc_mask.test(b); }

SchedDomainShared& llc_of(Cpu& cpu, CpuId other) {
  const int llc = cpu.machine().topology().cluster(other);
  return kernel_of(cpu).llc_shared[static_cast<std::size_t>(llc)];
}

bool sched_smt_active(Cpu& cpu) { return cpu.machine().topology().spec().threads_per_core > 1; }

// --- select_idle_sibling

// Linux: kernel/sched/fair.c, select_idle_smt().
Co<CpuId> select_idle_smt(Cpu& cpu, const Task& task, CpuId prev) {
  const CpuMask& siblings = rq_of(cpu, prev).smt_mask;
  for (const CpuId other : siblings) {
    if (other == prev || !task.cpus_mask.test(other)) continue;
    if (co_await available_idle_cpu(cpu, other)) co_return other;
  }
  co_return kNoCpu;
}

// The CPUs that a scan still has to look at, and the first idle one it came past.
struct Scan {
  CpuMask cpus;
  CpuId idle_cpu = kNoCpu;
};

// Linux: kernel/sched/fair.c, select_idle_core(). True if all threads of the core are idle.
Co<bool> select_idle_core(Cpu& cpu, Scan& scan, CpuId core) {
  Scan& found = scan;
  const CpuMask& siblings = rq_of(cpu, core).smt_mask;
  bool idle = true;
  for (const CpuId other : siblings) {
    co_await exec(cpu, Path::select_task_rq_fair_probe);
    if (!co_await available_idle_cpu(cpu, other)) {
      idle = false;
      if (found.idle_cpu != kNoCpu) break;
    } else if (found.idle_cpu == kNoCpu && found.cpus.test(other)) {
      found.idle_cpu = other;
    }
  }
  for (const CpuId other : siblings) found.cpus.clear(other);
  co_return idle;
}

// Linux: kernel/sched/fair.c, select_idle_cpu(), with SIS_UTIL.
// Not modelled: clusters below the LLC, SIS_PROP of v5.x.
Co<CpuId> select_idle_cpu(Cpu& cpu, const Task& task, bool has_idle_core, CpuId target) {
  SchedDomainShared& llc = llc_of(cpu, target);
  Scan scan{rq_of(cpu, target).llc_mask, kNoCpu};
  for (const CpuId other : rq_of(cpu, target).llc_mask)
    if (!task.cpus_mask.test(other)) scan.cpus.clear(other);
  const auto limit = static_cast<int>(co_await read_once(cpu, llc.nr_idle_scan));
  if (limit == 0) co_return kNoCpu;
  int looked_at = 0;
  // From the target on, and round to it.
  for (CpuId after = target; !scan.cpus.empty();) {
    CpuId other = scan.cpus.next(after + 1);
    if (other == kNoCpu) other = scan.cpus.first();
    after = other;
    if (has_idle_core) {
      if (co_await select_idle_core(cpu, scan, other)) co_return other;
      continue;
    }
    if (looked_at++ >= limit) co_return kNoCpu;
    scan.cpus.clear(other);
    co_await exec(cpu, Path::select_task_rq_fair_probe);
    if (co_await available_idle_cpu(cpu, other)) co_return other;
  }
  if (has_idle_core) co_await write_once(cpu, llc.has_idle_cores, 0);
  co_return scan.idle_cpu;
}

// A kernel thread bound to this CPU, in task context: its wakee is most likely part of its work.
// Linux: kernel/sched/fair.c, select_idle_sibling(), is_per_cpu_kthread().
Co<bool> woken_by_percpu_kthread(Cpu& cpu, CpuId prev) {
  PerCpu& self = this_cpu(cpu);
  const Task& waker = *self.curr;
  if (waker.mm != nullptr || waker.cpus_mask.weight() != 1 || &waker == &self.idle) co_return false;
  if (self.hardirq != 0 || prev != cpu.id) co_return false;
  co_return co_await read_once(cpu, self.nr_running) <= 1;
}

// Linux: kernel/sched/fair.c, select_idle_sibling().
// Not modelled: asymmetric capacities, sched_idle_cpu().
Co<CpuId> select_idle_sibling(Cpu& cpu, Task& task, CpuId prev, CpuId target) {
  Task& woken = task;
  if (co_await available_idle_cpu(cpu, target)) co_return target;
  const bool near = cpus_share_cache(cpu, prev, target);
  if (prev != target && near && co_await available_idle_cpu(cpu, prev)) co_return prev;
  if (co_await woken_by_percpu_kthread(cpu, prev)) co_return prev;

  const CpuId recent = woken.recent_used_cpu;
  woken.recent_used_cpu = prev;
  if (recent != prev && recent != target && cpus_share_cache(cpu, recent, target) &&
      woken.cpus_mask.test(recent) && co_await available_idle_cpu(cpu, recent))
    co_return recent;

  bool has_idle_core = false;
  if (sched_smt_active(cpu)) {
    has_idle_core = co_await read_once(cpu, llc_of(cpu, target).has_idle_cores) != 0;
    if (!has_idle_core && near) {
      const CpuId sibling = co_await select_idle_smt(cpu, woken, prev);
      if (sibling != kNoCpu) co_return sibling;
    }
  }
  const CpuId found = co_await select_idle_cpu(cpu, woken, has_idle_core, target);
  co_return found != kNoCpu ? found : target;
}

// --- this CPU or the one the task was on

// Linux: kernel/sched/fair.c, wake_affine_idle().
Co<CpuId> wake_affine_idle(Cpu& cpu, CpuId prev, bool sync) {
  PerCpu& self = this_cpu(cpu);
  if (co_await available_idle_cpu(cpu, cpu.id) && cpus_share_cache(cpu, cpu.id, prev)) {
    const bool prev_idle = co_await available_idle_cpu(cpu, prev);
    co_return prev_idle ? prev : cpu.id;
  }
  if (sync && co_await read_once(cpu, self.nr_running) == 1) co_return cpu.id;
  if (co_await available_idle_cpu(cpu, prev)) co_return prev;
  co_return kNoCpu;
}

// Loads are numbers of runnable tasks: all weigh the same and none has a history.
// Linux: kernel/sched/fair.c, wake_affine_weight().
// Not modelled: load averages, capacities.
Co<CpuId> wake_affine_weight(Cpu& cpu, CpuId prev, bool sync) {
  PerCpu& self = this_cpu(cpu);
  auto here = static_cast<std::int64_t>(co_await read_once(cpu, self.cfs));
  if (sync) {
    if (here < 1) co_return cpu.id;
    here -= 1;
  }
  here += 1;
  const auto there = static_cast<std::int64_t>(co_await read_once(cpu, rq_of(cpu, prev).cfs)) - 1;
  constexpr std::int64_t kImbalancePercent = 117;
  const std::int64_t here_weight = here * 100;
  const std::int64_t there_weight = there * (100 + (kImbalancePercent - 100) / 2) + (sync ? 1 : 0);
  co_return here_weight < there_weight ? cpu.id : kNoCpu;
}

// Linux: kernel/sched/fair.c, wake_affine().
Co<CpuId> wake_affine(Cpu& cpu, CpuId prev, bool sync) {
  Cpu& self = cpu;
  CpuId target = co_await wake_affine_idle(self, prev, sync);
  if (target == kNoCpu) target = co_await wake_affine_weight(self, prev, sync);
  co_return target == self.id ? target : prev;
}

// Linux: kernel/sched/fair.c, record_wakee().
void record_wakee(Task& waker, const Task& wakee, Time now) {
  if (now > waker.wakee_flip_decay + Time::seconds(1)) {
    waker.wakee_flips /= 2;
    waker.wakee_flip_decay = now;
  }
  if (waker.last_wakee == &wakee) return;
  waker.last_wakee = &wakee;
  ++waker.wakee_flips;
}

// Linux: kernel/sched/fair.c, wake_wide(): the waker serves many, so that they should spread.
bool wake_wide(const Task& waker, const Task& wakee, int llc_size) {
  const int most = std::max(waker.wakee_flips, wakee.wakee_flips);
  const int least = std::min(waker.wakee_flips, wakee.wakee_flips);
  return least >= llc_size && most >= least * llc_size;
}

// All domains have SD_WAKE_AFFINE: no machine has nodes further apart than RECLAIM_DISTANCE.
// Linux: kernel/sched/fair.c, select_task_rq_fair().
// Not modelled: energy-aware placement, the slow path of fork and exec.
Co<CpuId> select_task_rq_fair(Cpu& cpu, Task& task, unsigned wake_flags) {
  PerCpu& self = this_cpu(cpu);
  Task& woken = task;
  const CpuId prev = woken.cpu;
  CpuId target = prev;
  record_wakee(*self.curr, woken, cpu.now());
  const bool here_allowed = woken.cpus_mask.test(cpu.id);
  if ((wake_flags & WF_CURRENT_CPU) != 0 && here_allowed) co_return cpu.id;
  const bool want_affine = here_allowed && !wake_wide(*self.curr, woken, self.llc_mask.weight());
  if (want_affine && cpu.id != prev)
    target = co_await wake_affine(cpu, prev, (wake_flags & WF_SYNC) != 0);
  co_return co_await select_idle_sibling(cpu, woken, prev, target);
}

}  // namespace

// Linux: kernel/sched/core.c, select_task_rq(), select_fallback_rq().
Co<CpuId> select_task_rq(Cpu& cpu, Task& task, unsigned wake_flags) {
  Task& woken = task;
  if (woken.cpus_mask.weight() == 1) {
    co_await exec(cpu, Path::select_task_rq_pinned);
    co_return woken.cpus_mask.first();
  }
  co_await exec(cpu, Path::select_task_rq_fair);
  const CpuId chosen = co_await select_task_rq_fair(cpu, woken, wake_flags);
  co_return woken.cpus_mask.test(chosen) ? chosen : woken.cpus_mask.first();
}

// Linux: kernel/sched/fair.c, update_idle_core(), __update_idle_core().
Co<> update_idle_core(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (!sched_smt_active(cpu)) co_return;
  Word& has_idle_cores = llc_of(cpu, cpu.id).has_idle_cores;
  if (co_await read_once(cpu, has_idle_cores) != 0) co_return;
  for (const CpuId other : self.smt_mask) {
    if (other == cpu.id) continue;
    if (!co_await available_idle_cpu(cpu, other)) co_return;
  }
  co_await write_once(cpu, has_idle_cores, 1);
}

}  // namespace idlesim::kernel
