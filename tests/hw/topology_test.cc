// CPU numbers against lists written by hand, and against what Linux reported on real machines.
#include "idlesim/hw/topology.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace idlesim::hw {
namespace {

// Two sockets of two nodes of one cluster of two cores of two threads: 16 CPUs, 8 cores.
TopologySpec sixteen(Numbering numbering) { return {2, 2, 1, 2, 2, numbering}; }

std::vector<CpuId> cpus_by_place(const Topology& topology) {
  std::vector<CpuId> cpus;
  for (CoreId core = 0; core < topology.nr_cores(); ++core)
    for (int thread = 0; thread < topology.spec().threads_per_core; ++thread)
      cpus.push_back(topology.cpu(core, thread));
  return cpus;
}

TEST(Topology, BlockNumbering) {
  const Topology t(sixteen(Numbering::kBlock));
  EXPECT_EQ(cpus_by_place(t),
            (std::vector<CpuId>{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}));
}
TEST(Topology, RoundRobinNumbering) {
  const Topology t(sixteen(Numbering::kRoundRobin));
  EXPECT_EQ(cpus_by_place(t),
            (std::vector<CpuId>{0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15}));
}
TEST(Topology, AdjacentNumbering) {
  const Topology t(sixteen(Numbering::kAdjacent));
  EXPECT_EQ(cpus_by_place(t),
            (std::vector<CpuId>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Topology, PlacesAndRelations) {
  const Topology t(sixteen(Numbering::kRoundRobin));
  EXPECT_EQ(t.nr_cpus(), 16);
  EXPECT_EQ(t.nr_nodes(), 4);
  EXPECT_EQ(t.nr_clusters(), 4);
  // CPU 13 is the second thread of core 6: socket 1, node 3.
  EXPECT_EQ(t.core(13), 6);
  EXPECT_EQ(t.thread(13), 1);
  EXPECT_EQ(t.node(13), 3);
  EXPECT_EQ(t.cluster(13), 3);
  EXPECT_EQ(t.socket(13), 1);
  EXPECT_EQ(t.relation(13, 13), Relation::kSelf);
  EXPECT_EQ(t.relation(13, 5), Relation::kSibling);
  EXPECT_EQ(t.relation(13, 7), Relation::kCluster);
  EXPECT_EQ(t.relation(13, 1), Relation::kSocket);
  EXPECT_EQ(t.relation(13, 12), Relation::kRemote);
  const auto list = [](const CpuMask& mask) {
    std::vector<CpuId> cpus;
    for (CpuId cpu : mask) cpus.push_back(cpu);
    return cpus;
  };
  EXPECT_EQ(list(t.siblings(13)), (std::vector<CpuId>{5, 13}));
  EXPECT_EQ(list(t.cpus_of_cluster(3)), (std::vector<CpuId>{5, 7, 13, 15}));
  EXPECT_EQ(list(t.cpus_of_node(3)), (std::vector<CpuId>{5, 7, 13, 15}));
  EXPECT_EQ(list(t.cpus_of_socket(1)), (std::vector<CpuId>{1, 3, 5, 7, 9, 11, 13, 15}));
}

// --- hwloc's dumps of real machines (os_index of a PU is the Linux CPU number)

struct Place {
  int package;
  int l3;
  int core;
  CpuId cpu;
};

// The PUs of a dump in document order with the packages, L3 caches and cores they sit in, counted
// from 0.
std::vector<Place> read_hwloc(const std::string& name) {
  std::ifstream file(std::string(IDLESIM_SHARED_DIR) + "/data/hwloc-xml/" + name);
  std::stringstream text;
  text << file.rdbuf();
  const std::string xml = text.str();
  const std::regex object("<object type=\"(Package|L3Cache|Core|PU)\"( os_index=\"([0-9]+)\")?");
  std::vector<Place> places;
  Place at{-1, -1, -1, 0};
  for (std::sregex_iterator it(xml.begin(), xml.end(), object), end; it != end; ++it) {
    const std::string type = (*it)[1];
    if (type == "Package") ++at.package;
    if (type == "L3Cache") ++at.l3;
    if (type == "Core") ++at.core;
    if (type != "PU") continue;
    at.cpu = std::stoi((*it)[3]);
    places.push_back(at);
  }
  return places;
}

struct Dump {
  const char* file;
  TopologySpec topology;
};

class HwlocDump : public ::testing::TestWithParam<Dump> {};

TEST_P(HwlocDump, HasTheSameNumbers) {
  const std::vector<Place> places = read_hwloc(GetParam().file);
  if (places.empty()) GTEST_SKIP() << "no " << GetParam().file << " beside the checkout";
  const Topology t(GetParam().topology);
  ASSERT_EQ(static_cast<int>(places.size()), t.nr_cpus());
  for (const Place& place : places) {
    EXPECT_EQ(t.core(place.cpu), place.core) << "CPU " << place.cpu;
    EXPECT_EQ(t.cluster(place.cpu), place.l3) << "CPU " << place.cpu;
    EXPECT_EQ(t.socket(place.cpu), place.package) << "CPU " << place.cpu;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, HwlocDump,
    ::testing::Values(
        Dump{"AMD-19h-Zen3-2xEpyc-7763.xml", {2, 1, 8, 8, 1, Numbering::kBlock}},
        Dump{"AMD-19h-Zen4-2xEpyc-9654.xml", {2, 1, 12, 8, 2, Numbering::kBlock}},
        Dump{"Intel-CascadeLake-2xXeon6230.xml", {2, 1, 1, 20, 2, Numbering::kRoundRobin}},
        Dump{"Intel-Skylake-2xXeon6140.xml", {2, 1, 1, 18, 2, Numbering::kRoundRobin}},
        Dump{"Intel-Westmere-2xXeon-X5650.xml", {2, 1, 1, 6, 2, Numbering::kBlock}},
        Dump{"Intel-IvyBridge-12xXeon-E5-4620v2.xml", {12, 1, 1, 8, 2, Numbering::kBlock}},
        Dump{"Intel-SapphireRapids-2xXeonMax9460.xml", {2, 1, 1, 40, 2, Numbering::kBlock}}));

}  // namespace
}  // namespace idlesim::hw
