// The importer of core-to-core measurements: runs the loop of the measuring tools in the model and
// solves for the legs that give what was measured.
#ifndef IDLESIM_HW_PING_PONG_H_
#define IDLESIM_HW_PING_PONG_H_

#include "idlesim/base/types.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/hw/topology.h"

namespace idlesim::hw {

// Half a round trip, in the mean over `rounds`, of two threads that compare-exchange one line: each
// waits, by trying, for the other's value and puts its own there. Failed attempts are included, as
// in nviennot/core-to-core-latency and its descendants. The line is homed at `home` and has the
// mean distance of its relation. a and b differ.
Time compare_exchange_one_way(const MachineSpec& spec, CpuId a, CpuId b, NodeId home, int rounds);

// The spec with the legs of one relation changed so that compare_exchange_one_way() gives
// `measured`: snoop and data legs in the proportion they have (kSibling: the sibling transfer). The
// other relations are untouched. UserError if no legs give it: then something else takes longer.
MachineSpec solve_legs(const MachineSpec& spec, Relation relation, Time measured);

// A pair of CPUs of that relation whose line is best homed at the first one's node. UserError if
// the topology has none.
struct PingPongPair {
  CpuId a;
  CpuId b;
};
PingPongPair pair_of(const Topology& topology, Relation relation);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_PING_PONG_H_
