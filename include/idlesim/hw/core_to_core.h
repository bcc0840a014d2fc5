// Public core-to-core latency matrices: what the importer of machine files solves the coherence
// legs for, and what tests compare the model with.
//
// A value is half a round trip of two pinned threads that compare-exchange one line, failed
// attempts included. Sources: KCORES/core-to-core-latency-plus (and nviennot/core-to-core-latency,
// the tool it forked), SoilRos/cpu-latency.
#ifndef IDLESIM_HW_CORE_TO_CORE_H_
#define IDLESIM_HW_CORE_TO_CORE_H_

#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/topology.h"

namespace idlesim::hw {

class CoreToCoreMatrix {
 public:
  explicit CoreToCoreMatrix(int nr_cpus);

  int nr_cpus() const { return nr_cpus_; }
  // Pairs with a value; (a, b) and (b, a) count separately.
  int nr_measured() const;
  bool measured(CpuId row, CpuId column) const { return at(row, column) != Time::never(); }
  // CHECKs that the pair was measured.
  Time one_way(CpuId row, CpuId column) const;
  void set(CpuId row, CpuId column, Time one_way);

 private:
  Time at(CpuId row, CpuId column) const {
    return one_way_[static_cast<std::size_t>(row) * static_cast<std::size_t>(nr_cpus_) +
                    static_cast<std::size_t>(column)];
  }

  int nr_cpus_;
  std::vector<Time> one_way_;  // [row * nr_cpus + column], never() where nothing was measured
};

// KCORES and nviennot: one row and one column per CPU in the operating system's numbering; values
// (ns) stand below the diagonal only, the row's CPU is the first thread. A cell may be empty.
CoreToCoreMatrix read_kcores_matrix(const std::string& path);

// SoilRos: the same shape with values on both sides of an empty diagonal, in hwloc's logical order
// (siblings are neighbours).
CoreToCoreMatrix read_soilros_matrix(const std::string& path);

inline constexpr int kAnySocket = -1;

// The measured pairs of one relation, ascending; with `socket`, only those with both CPUs in it.
// The matrix may cover the first CPUs of the topology only; UserError if it has more.
std::vector<Time> transfers(const CoreToCoreMatrix& matrix, const Topology& topology,
                            Relation relation, int socket = kAnySocket);

// Mean of the middle two (one) of ascending values. CHECKs that there are some.
Time median(const std::vector<Time>& ascending);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_CORE_TO_CORE_H_
