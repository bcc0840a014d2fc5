// Topologies of real machines from public files: hwloc XML, lstopo's console text, lscpu.
#ifndef IDLESIM_HW_TOPOLOGY_IMPORT_H_
#define IDLESIM_HW_TOPOLOGY_IMPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/topology.h"

namespace idlesim::hw {

// Where one CPU sits. Sockets, nodes, clusters and cores are numbered from 0 in the order of the
// file; a cluster is what shares an L3 cache (without one: the socket).
struct CpuPlace {
  CpuId cpu = kNoCpu;  // Linux's number (hwloc: os_index, lstopo: P#)
  int socket = 0;
  int node = 0;
  int cluster = 0;
  int core = 0;
  int thread = 0;
};

struct ImportedTopology {
  std::vector<CpuPlace> cpus;  // ascending by CPU number, without gaps
  TopologySpec spec;           // its numbering is meaningful only if numbering_known
  bool numbering_known = false;
};

// hwloc XML, versions 2 and 3 of the format (libhwloc 2.9 refuses version 3, hence an own reader;
// only the nesting of objects, their types and os_index are looked at). UserError with file:line
// for text that is not such a file, and for machines whose parts differ in size.
ImportedTopology read_hwloc_xml(const std::string& path);

// The text lstopo prints with --of console -v. Same errors.
ImportedTopology read_lstopo_console(const std::string& path);

// The fields of lscpu that a machine file needs. `path` may have other text before the block and
// behind it.
struct LscpuInfo {
  std::string architecture;
  std::string model_name;
  std::string vendor;
  int cpus = 0;
  int threads_per_core = 0;
  int cores_per_socket = 0;
  int sockets = 0;
  std::vector<std::vector<CpuId>> node_cpus;  // per NUMA node
  std::optional<Frequency> max_clock;
  Frequency bogomips;  // arm64: twice the generic timer
};

LscpuInfo read_lscpu(const std::string& path);

// One cluster per node: lscpu does not say which CPUs share an L3. The numbering follows from the
// nodes' CPU lists; siblings of a core with several threads are taken to be one block apart.
// UserError if the counts do not fit together.
ImportedTopology topology_of(const LscpuInfo& info, const std::string& path);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_TOPOLOGY_IMPORT_H_
