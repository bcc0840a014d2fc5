// Where CPUs sit: sockets, NUMA nodes, clusters that share a cache, cores, hardware threads; and
// how Linux numbers them.
#ifndef IDLESIM_HW_TOPOLOGY_H_
#define IDLESIM_HW_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/cpumask.h"
#include "idlesim/base/types.h"

namespace idlesim::hw {

using CoreId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr CoreId kNoCore = -1;

// How far two cores are apart, nearest first. kSibling: two threads of one core.
enum class Relation : std::uint8_t { kSelf, kSibling, kCluster, kSocket, kRemote };

// Which CPU number Linux gives to a hardware thread.
enum class Numbering : std::uint8_t {
  kBlock,       // socket by socket, then the second threads: sibling of n is n + cores
  kRoundRobin,  // CPU modulo sockets is the socket, then the second threads
  kAdjacent,    // the threads of a core are neighbours: siblings are 2k and 2k+1
};

struct TopologySpec {
  int sockets = 1;
  int nodes_per_socket = 1;
  int clusters_per_node = 1;
  int cores_per_cluster = 1;
  int threads_per_core = 1;
  Numbering numbering = Numbering::kBlock;
};

class Topology {
 public:
  explicit Topology(const TopologySpec& spec);

  int nr_cpus() const { return static_cast<int>(core_of_.size()); }
  int nr_cores() const { return nr_cores_; }
  int nr_nodes() const { return spec_.sockets * spec_.nodes_per_socket; }
  int nr_clusters() const { return nr_nodes() * spec_.clusters_per_node; }
  const TopologySpec& spec() const { return spec_; }

  // Cores are numbered in physical order: socket, node, cluster, core.
  CoreId core(CpuId cpu) const { return core_of_[static_cast<std::size_t>(cpu)]; }
  int thread(CpuId cpu) const { return thread_of_[static_cast<std::size_t>(cpu)]; }
  CpuId cpu(CoreId core, int thread) const;
  int cluster_of_core(CoreId core) const { return cluster_of_[static_cast<std::size_t>(core)]; }
  NodeId node_of_core(CoreId core) const { return node_of_[static_cast<std::size_t>(core)]; }
  int socket_of_core(CoreId core) const { return socket_of_[static_cast<std::size_t>(core)]; }
  int socket_of_node(NodeId node) const { return socket_of_node_[static_cast<std::size_t>(node)]; }
  NodeId node(CpuId cpu) const { return node_of_core(core(cpu)); }
  int cluster(CpuId cpu) const { return cluster_of_core(core(cpu)); }
  int socket(CpuId cpu) const { return socket_of_core(core(cpu)); }

  Relation relation(CpuId a, CpuId b) const;
  // Between cores: kSelf, kCluster, kSocket or kRemote.
  Relation core_relation(CoreId a, CoreId b) const {
    if (a == b) return Relation::kSelf;
    if (cluster_of_core(a) == cluster_of_core(b)) return Relation::kCluster;
    return socket_of_core(a) == socket_of_core(b) ? Relation::kSocket : Relation::kRemote;
  }

  CpuMask siblings(CpuId cpu) const;
  CpuMask cpus_of_cluster(int cluster) const;
  CpuMask cpus_of_node(NodeId node) const;
  CpuMask cpus_of_socket(int socket) const;

 private:
  CpuMask cpus_of_cores(CoreId first, int count) const;

  TopologySpec spec_;
  int nr_cores_;
  int cores_per_node_;
  int cores_per_socket_;
  // Tables instead of divisions: these are asked for at every line transfer.
  std::vector<int> cluster_of_;
  std::vector<NodeId> node_of_;
  std::vector<int> socket_of_;
  std::vector<int> socket_of_node_;
  std::vector<CoreId> core_of_;
  std::vector<int> thread_of_;
  std::vector<CpuId> cpu_of_;  // [core * threads + thread]
};

std::string to_string(Relation relation);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_TOPOLOGY_H_
