// Events as the kernel's tracepoints: what perf script and ftrace have in common.
#ifndef IDLESIM_SRC_REPORT_TRACEPOINTS_H_
#define IDLESIM_SRC_REPORT_TRACEPOINTS_H_

#include <string>
#include <vector>

#include "idlesim/report/timeline.h"

namespace idlesim::report {

struct Tracepoint {
  Time time;
  CpuId cpu = 0;
  std::int32_t task = 0;
  std::string system;   // "sched"
  std::string name;     // "sched_switch"
  std::string payload;  // as the kernel's own format prints it
};

std::vector<Tracepoint> tracepoints(const std::vector<TimelineEvent>& events,
                                    const TimelineNames& names);

// A task's comm: "swapper/3" of the idle task of CPU 3, else its name, at most 15 characters.
std::string comm_of(std::int32_t task, CpuId cpu, const TimelineNames& names);

// The vector that `value` means; called "vector_N" if it has no name.
TimelineNames::Vector vector_of(std::int32_t value, const TimelineNames& names);

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_TRACEPOINTS_H_
