#include "idlesim/hw/topology.h"

#include "idlesim/base/check.h"

namespace idlesim::hw {

Topology::Topology(const TopologySpec& spec)
    : spec_(spec),
      nr_cores_(spec.sockets * spec.nodes_per_socket * spec.clusters_per_node *
                spec.cores_per_cluster),
      cores_per_node_(spec.clusters_per_node * spec.cores_per_cluster),
      cores_per_socket_(spec.nodes_per_socket * cores_per_node_) {
  CHECK(nr_cores_ > 0 && spec.threads_per_core > 0, "a machine has at least one CPU");
  for (CoreId core = 0; core < nr_cores_; ++core) {
    cluster_of_.push_back(core / spec.cores_per_cluster);
    node_of_.push_back(core / cores_per_node_);
    socket_of_.push_back(core / cores_per_socket_);
  }
  for (NodeId node = 0; node < nr_nodes(); ++node)
    socket_of_node_.push_back(node / spec.nodes_per_socket);
  const int threads = spec.threads_per_core;
  core_of_.resize(static_cast<std::size_t>(nr_cores_ * threads));
  thread_of_.resize(core_of_.size());
  cpu_of_.resize(core_of_.size());
  for (CoreId core = 0; core < nr_cores_; ++core) {
    for (int thread = 0; thread < threads; ++thread) {
      CpuId cpu = 0;
      switch (spec.numbering) {
        case Numbering::kBlock:
          cpu = core + thread * nr_cores_;
          break;
        case Numbering::kRoundRobin:
          cpu = core % cores_per_socket_ * spec.sockets + core / cores_per_socket_ +
                thread * nr_cores_;
          break;
        case Numbering::kAdjacent:
          cpu = core * threads + thread;
          break;
      }
      core_of_[static_cast<std::size_t>(cpu)] = core;
      thread_of_[static_cast<std::size_t>(cpu)] = thread;
      cpu_of_[static_cast<std::size_t>(core * threads + thread)] = cpu;
    }
  }
}

CpuId Topology::cpu(CoreId core, int thread) const {
  return cpu_of_[static_cast<std::size_t>(core * spec_.threads_per_core + thread)];
}

Relation Topology::relation(CpuId a, CpuId b) const {
  if (a == b) return Relation::kSelf;
  const Relation cores = core_relation(core(a), core(b));
  return cores == Relation::kSelf ? Relation::kSibling : cores;
}

CpuMask Topology::cpus_of_cores(CoreId first, int count) const {
  CpuMask mask(nr_cpus());
  for (CoreId core = first; core < first + count; ++core)
    for (int thread = 0; thread < spec_.threads_per_core; ++thread) mask.set(cpu(core, thread));
  return mask;
}

CpuMask Topology::siblings(CpuId cpu) const { return cpus_of_cores(core(cpu), 1); }

CpuMask Topology::cpus_of_cluster(int cluster) const {
  return cpus_of_cores(cluster * spec_.cores_per_cluster, spec_.cores_per_cluster);
}

CpuMask Topology::cpus_of_node(NodeId node) const {
  return cpus_of_cores(node * cores_per_node_, cores_per_node_);
}

CpuMask Topology::cpus_of_socket(int socket) const {
  return cpus_of_cores(socket * cores_per_socket_, cores_per_socket_);
}

std::string to_string(Relation relation) {
  switch (relation) {
    case Relation::kSelf:
      return "self";
    case Relation::kSibling:
      return "sibling";
    case Relation::kCluster:
      return "cluster";
    case Relation::kSocket:
      return "socket";
    case Relation::kRemote:
      return "remote";
  }
  return "?";
}

}  // namespace idlesim::hw
