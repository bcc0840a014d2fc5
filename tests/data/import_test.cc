// The importer: the legs solved for a measured median give that median when the loop of the
// measuring tools runs in the model; and the shipped machine files give the medians of the matrices
// they name.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "data/public_data.h"
#include "idlesim/config/document.h"
#include "idlesim/hw/csv.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/hw/ping_pong.h"

namespace idlesim::hw {
namespace {

using data_test::data_path;

MachineSpec machine_file(const std::string& name) {
  config::Document doc = config::load_with_extends(std::string(IDLESIM_SOURCE_DIR) +
                                                   "/sim-configs/machines/" + name + ".json");
  MachineSpec spec = read_machine_spec(doc.root());
  doc.finish();
  return spec;
}

Time one_way(const MachineSpec& spec, Relation relation) {
  const Topology topology(spec.topology);
  const PingPongPair pair = pair_of(topology, relation);
  return compare_exchange_one_way(spec, pair.a, pair.b, topology.node(pair.a), 64);
}

void expect_within_5_percent(Time value, double expected_ns, const std::string& what) {
  EXPECT_NEAR(value.as_ns(), expected_ns, 0.05 * expected_ns) << what;
}

// Half a round trip by hand: the line changes hands once a step; with both requests always waiting,
// a step is snoop + data + the locked operation, for which the line is held.
TEST(PingPong, StepIsSnoopDataAndTheLockedOperation) {
  MachineSpec spec = machine_file("epyc-milan-2s-64c");
  spec.coherence.cluster = {Time::ns(8), Time::ns(10), Time::ns(14)};
  spec.cpu.atomic = Time::ns(2);
  EXPECT_EQ(one_way(spec, Relation::kCluster), Time::ns(26));
}

using ImporterOfPublicData = data_test::PublicData;

TEST_F(ImporterOfPublicData, SolvedLegsGiveTheMedianOfEveryMatrix) {
  // Relations of c2c-summary.csv by what they mean on a machine with clusters.
  const auto relation_of = [](const std::string& file, const std::string& name) {
    const bool clusters = file.find("epyc") != std::string::npos;
    if (name == "smt") return Relation::kSibling;
    if (name.starts_with("same_ccx") || name.starts_with("same_dsu") ||
        name.starts_with("same_die"))
      return Relation::kCluster;
    if (name.starts_with("same_socket")) return clusters ? Relation::kSocket : Relation::kCluster;
    if (name.starts_with("same_half") || name.starts_with("other_")) return Relation::kSocket;
    return Relation::kRemote;
  };
  const auto small = [](const char* name) {
    MachineSpec spec = machine_file(name);
    spec.topology = {2, 1, 2, 2, 2, Numbering::kBlock};
    return spec;
  };
  const MachineSpec epyc = small("epyc-milan-2s-64c");
  const MachineSpec other = small("xeon-e5-2667v4-2s");
  int rows = 0;
  for (const CsvRow& row : read_csv(data_path("c2c-summary.csv"),
                                    {"file", "relation", "n_pairs", "min_ns", "p5_ns", "p25_ns",
                                     "median_ns", "p75_ns", "p95_ns", "max_ns"})) {
    const std::string what = row.fields[0] + " " + row.fields[1];
    const Relation relation = relation_of(row.fields[0], row.fields[1]);
    const Time median = parse_ns(row.fields[6], "c2c-summary.csv", row.line);
    const MachineSpec& spec = what.find("epyc") != std::string::npos ? epyc : other;
    const MachineSpec solved = solve_legs(spec, relation, median);
    expect_within_5_percent(one_way(solved, relation), median.as_ns(), what);
    ++rows;
  }
  EXPECT_EQ(rows, 82);
}

TEST(Importer, RefusesWhatNoLegsGive) {
  MachineSpec spec = machine_file("epyc-milan-2s-64c");
  spec.cpu.atomic = Time::ns(50);
  EXPECT_THROW(solve_legs(spec, Relation::kCluster, Time::ns(20)), UserError);
}

// Machine file, relation, median of the matrix its source names.
struct Shipped {
  const char* machine;
  Relation relation;
  double median_ns;
};

TEST(MachineFiles, GiveTheMediansOfTheirMatrices) {
  constexpr Shipped kShipped[] = {
      {"epyc-milan-2s-64c", Relation::kSibling, 10.2},
      {"epyc-milan-2s-64c", Relation::kCluster, 24.9},
      {"epyc-milan-2s-64c", Relation::kSocket, 123.6},  // both sockets together: 119.8 and 127.4
      {"epyc-milan-2s-64c", Relation::kRemote, 303.6},
      {"epyc-genoa-2s-96c", Relation::kCluster, 27.1},
      {"epyc-genoa-2s-96c", Relation::kSocket, 99.3},
      {"epyc-genoa-2s-96c", Relation::kRemote, 191.6},
      {"altra-2s-64c", Relation::kCluster, 93.3},
      {"altra-2s-64c", Relation::kSocket, 180.5},
      {"graviton2-1s-64c", Relation::kCluster, 47.2},
      {"graviton3-1s-64c", Relation::kCluster, 46.4},
      {"xeon-4114-2s-10c", Relation::kSibling, 10.0},
      {"xeon-4114-2s-10c", Relation::kCluster, 57.3},
      {"xeon-4114-2s-10c", Relation::kRemote, 155.5},
      {"ivybridge-ex-4s-15c", Relation::kCluster, 49.6},
      {"ivybridge-ex-4s-15c", Relation::kRemote, 165.1},
      {"xeon-e5-2420v2-2s", Relation::kCluster, 50.3},
      {"xeon-e5-2420v2-2s", Relation::kRemote, 138.8},
      {"icelake-sp-8360y-2s-36c", Relation::kCluster, 50.3},
      {"icelake-sp-8360y-2s-36c", Relation::kRemote, 113.6},
      {"skylake-sp-2s-28c", Relation::kCluster, 46.6},
      {"skylake-sp-2s-28c", Relation::kRemote, 134.1},
      {"sapphire-rapids-2s", Relation::kCluster, 55.3},
  };
  for (const Shipped& shipped : kShipped)
    expect_within_5_percent(one_way(machine_file(shipped.machine), shipped.relation),
                            shipped.median_ns,
                            std::string(shipped.machine) + " " + to_string(shipped.relation));
}

}  // namespace
}  // namespace idlesim::hw
