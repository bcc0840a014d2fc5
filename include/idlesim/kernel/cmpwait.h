// Waiting for a word to change: a loop of cpu_relax() on x86; on arm64 __cmpwait(), which waits in
// WFE for its line to be written.
#ifndef IDLESIM_KERNEL_CMPWAIT_H_
#define IDLESIM_KERNEL_CMPWAIT_H_

#include <cstdint>

#include "idlesim/base/source_location.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/sim/co.h"

namespace idlesim::kernel {

// arm64. Returns when the word may no longer be `val`, or at the next event of any kind. With a
// timeout, WFET ends the wait about then: Linux's conversion to counts of the timer makes it 16 %
// longer.
sim::Co<> cmpwait_relaxed(hw::Cpu& cpu, hw::Word& word, std::uint64_t val,
                          SourceLocation where = SourceLocation::current());
sim::Co<> cmpwait_relaxed_timeout(hw::Cpu& cpu, hw::Word& word, std::uint64_t val, Time timeout,
                                  SourceLocation where = SourceLocation::current());

// Waits until no bit of `mask` is set. `round`: the code of one look at it.
sim::Co<> smp_cond_load_until_clear(hw::Cpu& cpu, hw::Word& word, std::uint64_t mask,
                                    hw::PathCost round,
                                    SourceLocation where = SourceLocation::current());

// Counts of the generic timer for `time`, as Linux's delay code reckons.
std::int64_t nsecs_to_cycles(Frequency counter, Time time);

// The bit of the counter that drives the event stream; the period is that of the bit. ecv: the
// counter's upper bits can be chosen, too.
int event_stream_bit(Frequency counter, bool ecv);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_CMPWAIT_H_
