#include "idlesim/hw/topology_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "data/public_data.h"
#include "idlesim/base/check.h"

namespace idlesim::hw {
namespace {

using data_test::data_path;
using data_test::files_of;
using data_test::PublicData;
using data_test::temporary_file;
using testing::HasSubstr;

// Sockets, nodes per socket, clusters per node, cores per cluster, threads per core, numbering.
const std::map<std::string, TopologySpec> kXml = {
    {"AMD-19h-Zen3-2xEpyc-7763.xml", {2, 1, 8, 8, 1, Numbering::kBlock}},
    {"AMD-19h-Zen4-2xEpyc-9654.xml", {2, 1, 12, 8, 2, Numbering::kBlock}},
    {"Intel-CascadeLake-2xXeon6230.xml", {2, 1, 1, 20, 2, Numbering::kRoundRobin}},
    {"Intel-IvyBridge-12xXeon-E5-4620v2.xml", {12, 1, 1, 8, 2, Numbering::kBlock}},
    {"Intel-SapphireRapids-2xXeonMax9460.xml", {2, 1, 1, 40, 2, Numbering::kBlock}},
    {"Intel-Skylake-2xXeon6140.xml", {2, 1, 1, 18, 2, Numbering::kRoundRobin}},
    {"Intel-Westmere-2xXeon-X5650.xml", {2, 1, 1, 6, 2, Numbering::kBlock}},
};
// The Westmere-EX text lacks the package of one socket and the L3 of another.
const std::map<std::string, TopologySpec> kConsole = {
    {"Kunpeng920-2x64.128arm-2pa2n8cluster4co.console", {2, 2, 1, 32, 1, Numbering::kBlock}},
    {"WestmereEX-4xE7-4870.40intel64-4n10c.console", {4, 1, 1, 10, 1, Numbering::kRoundRobin}},
};

void expect_spec(const ImportedTopology& imported, const TopologySpec& expected) {
  EXPECT_EQ(imported.spec.sockets, expected.sockets);
  EXPECT_EQ(imported.spec.nodes_per_socket, expected.nodes_per_socket);
  EXPECT_EQ(imported.spec.clusters_per_node, expected.clusters_per_node);
  EXPECT_EQ(imported.spec.cores_per_cluster, expected.cores_per_cluster);
  EXPECT_EQ(imported.spec.threads_per_core, expected.threads_per_core);
  EXPECT_TRUE(imported.numbering_known);
  EXPECT_EQ(imported.spec.numbering, expected.numbering);
  EXPECT_EQ(static_cast<int>(imported.cpus.size()), Topology(expected).nr_cpus());
}

class TopologyFiles : public PublicData {};

TEST_F(TopologyFiles, EveryHwlocXml) {
  std::vector<std::string> known;
  for (const auto& [name, expected] : kXml) {
    SCOPED_TRACE(name);
    known.push_back(name);
    expect_spec(read_hwloc_xml(data_path("hwloc-xml/" + name)), expected);
  }
  EXPECT_EQ(files_of("hwloc-xml", ".xml"), known);
}

TEST_F(TopologyFiles, EveryConsoleText) {
  std::vector<std::string> known;
  for (const auto& [name, expected] : kConsole) {
    SCOPED_TRACE(name);
    known.push_back(name);
    expect_spec(read_lstopo_console(data_path("hwloc-xml/" + name)), expected);
  }
  EXPECT_EQ(files_of("hwloc-xml", ".console"), known);
}

TEST_F(TopologyFiles, EveryLscpu) {
  struct Expected {
    TopologySpec spec;
    std::int64_t max_khz;
    std::int64_t timer_khz;
  };
  const std::map<std::string, Expected> files = {
      {"altra-kvm-guest-2vcpu_hetzner.sbc-bench.txt", {{1, 1, 1, 2, 1}, 0, 25000}},
      {"altra-max-m128-30_2s.sbc-bench.txt", {{2, 1, 1, 128, 1}, 3000000, 25000}},
      {"altra-max-m96-28_1s.sbc-bench.txt", {{1, 1, 1, 96, 1}, 2800000, 25000}},
      {"altra-q80-26_1s.sbc-bench.txt", {{1, 1, 1, 80, 1}, 2600000, 25000}},
      {"graviton2-m6g-8xlarge_vm.sbc-bench.txt", {{1, 1, 1, 32, 1}, 0, 121875}},
  };
  std::vector<std::string> known;
  for (const auto& [name, expected] : files) {
    SCOPED_TRACE(name);
    known.push_back(name);
    const std::string path = data_path("lscpu/" + name);
    const LscpuInfo info = read_lscpu(path);
    EXPECT_EQ(info.architecture, "aarch64");
    EXPECT_EQ(info.model_name, "Neoverse-N1");
    EXPECT_EQ(info.vendor, "ARM");
    EXPECT_EQ(info.max_clock.value_or(Frequency::khz(0)).count_khz(), expected.max_khz);
    EXPECT_EQ(info.bogomips.count_khz(), 2 * expected.timer_khz);
    expect_spec(topology_of(info, path), expected.spec);
  }
  EXPECT_EQ(files_of("lscpu", ".txt"), known);
}

const std::string kTwoCores =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
    "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\">\n"
    "<object type=\"NUMANode\" os_index=\"0\"/>\n<object type=\"Package\" os_index=\"0\">\n"
    "<object type=\"Core\" os_index=\"0\">\n"
    "<object type=\"PU\" os_index=\"0\"/><object type=\"PU\" os_index=\"1\"/>\n</object>\n"
    "<!-- a > b -->\n<object type=\"Core\" os_index=\"1\"><info name=\"x\" value=\"a>b\"/>\n"
    "<object type=\"PU\" os_index=\"2\"/><object type=\"PU\" os_index=\"3\"/>\n</object>\n"
    "</object>\n</object>\n</topology>\n";

TEST(HwlocXml, SiblingsThatAreNeighbours) {
  const ImportedTopology imported = read_hwloc_xml(temporary_file("two.xml", kTwoCores));
  expect_spec(imported, {1, 1, 1, 2, 2, Numbering::kAdjacent});
  EXPECT_EQ(imported.cpus[3].cpu, 3);
  EXPECT_EQ(imported.cpus[3].core, 1);
  EXPECT_EQ(imported.cpus[3].thread, 1);
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(HwlocXml, ANumberingOfNoRuleIsReported) {
  // Cores {0, 3} and {1, 2}: neither block (0, 2), (1, 3) nor adjacent.
  std::string text =
      with(kTwoCores, "os_index=\"1\"/>\n</object>\n<!--", "os_index=\"3\"/>\n</object>\n<!--");
  text = with(text, "os_index=\"2\"/><object type=\"PU\" os_index=\"3\"/>",
              "os_index=\"1\"/><object type=\"PU\" os_index=\"2\"/>");
  EXPECT_FALSE(read_hwloc_xml(temporary_file("odd.xml", text)).numbering_known);
}

std::string xml_error(const std::string& content) {
  try {
    read_hwloc_xml(temporary_file("bad.xml", content));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(HwlocXml, MistakesAreNamedWithTheirLine) {
  EXPECT_THAT(xml_error(""), HasSubstr("no CPU found"));
  EXPECT_THAT(xml_error("<html></html>"), HasSubstr(":1: the root of a topology file"));
  EXPECT_THAT(xml_error(kTwoCores.substr(0, kTwoCores.find("</topology>"))),
              HasSubstr("<topology> is not closed"));
  EXPECT_THAT(xml_error(kTwoCores.substr(0, kTwoCores.find("os_index=\"2\""))),
              HasSubstr(":12: the file ends inside a tag"));
  EXPECT_THAT(xml_error(with(kTwoCores, "</object>", "</core>")), HasSubstr(":9: </core> closes"));
  EXPECT_THAT(xml_error(with(kTwoCores, "type=\"PU\" os_index=\"1\"", "type=\"PU\"")),
              HasSubstr(":8: a PU without its number"));
  EXPECT_THAT(xml_error(with(kTwoCores, "type=\"PU\" os_index=\"1\"", "os_index=\"1\"")),
              HasSubstr(":8: an object without a type"));
  EXPECT_THAT(xml_error(with(kTwoCores, "os_index=\"3\"", "os_index=\"7\"")),
              HasSubstr("4 CPUs that are not numbered 0 to 3"));
  EXPECT_THAT(xml_error(with(kTwoCores, "os_index=\"3\"", "os_index=\"two\"")),
              HasSubstr(":12: \"two\" is not a whole number"));
  EXPECT_THAT(xml_error(with(kTwoCores, "<object type=\"PU\" os_index=\"3\"/>", "")),
              HasSubstr("cores with 2 and with 1 CPUs: all must be equal"));
  EXPECT_THAT(xml_error(with(kTwoCores, "\"Package\"", "\"Group\"")),
              HasSubstr(":8: a PU outside every package"));
}

TEST(LstopoConsole, MistakesAreNamedWithTheirLine) {
  const auto error_of = [](const std::string& content) -> std::string {
    try {
      read_lstopo_console(temporary_file("bad.console", content));
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("<topology/>\n"), HasSubstr(":1: lstopo's console text starts with"));
  EXPECT_THAT(error_of("Machine (P#0)\n  Package L#0 (P#0)\n    PU L#0 (P#0)\n"),
              HasSubstr(":3: a PU outside every core"));
  EXPECT_THAT(error_of("Machine (P#0)\n  Package L#0\n    Core L#0\n      PU L#0\n"),
              HasSubstr(":4: a PU without its number"));
}

std::string lscpu(const std::string& cpus, const std::string& node1) {
  return "some table: 1 2 3\nArchitecture: x86_64\nCPU(s): " + cpus +
         "\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 2\nVendor ID: X\n"
         "Model name: Y\nBogoMIPS: 4400.00\nNUMA node0 CPU(s): 0,2,4,6\nNUMA node1 CPU(s): " +
         node1 + "\n";
}

TEST(Lscpu, RoundRobinShowsInTheNodeLists) {
  const std::string path = temporary_file("lscpu.txt", lscpu("8", "1,3,5,7"));
  expect_spec(topology_of(read_lscpu(path), path), {2, 1, 1, 2, 2, Numbering::kRoundRobin});
}

TEST(Lscpu, NodesOfNoRuleAreReported) {
  const std::string path = temporary_file("lscpu.txt", lscpu("8", "1,3,5"));
  EXPECT_FALSE(topology_of(read_lscpu(path), path).numbering_known);
}

TEST(Lscpu, MistakesAreNamedWithTheirLine) {
  const auto error_of = [](const std::string& content) -> std::string {
    const std::string path = temporary_file("lscpu.txt", content);
    try {
      topology_of(read_lscpu(path), path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("nothing"), HasSubstr(":1: no lscpu output"));
  EXPECT_THAT(error_of(lscpu("9", "1,3,5,7")), HasSubstr("are not the number of CPUs"));
  EXPECT_THAT(error_of(lscpu("eight", "1,3,5,7")), HasSubstr(":3: \"eight\" is not a whole"));
  EXPECT_THAT(error_of(lscpu("8", "1,3-9")), HasSubstr(":11: \"3-9\" is no ascending range"));
  EXPECT_THAT(error_of(lscpu("8", "3,1")), HasSubstr(":11: \"1\" is no ascending range"));
  EXPECT_THAT(error_of(lscpu("70000", "1")), HasSubstr(":3: more CPUs than Linux"));
  EXPECT_THAT(error_of("Architecture: x86_64\n"), HasSubstr("without \"Model name\""));
}

}  // namespace
}  // namespace idlesim::hw
