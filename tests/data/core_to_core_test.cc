#include "idlesim/hw/core_to_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "data/public_data.h"
#include "idlesim/base/check.h"
#include "idlesim/hw/csv.h"

namespace idlesim::hw {
namespace {

using data_test::data_path;
using data_test::files_of;
using data_test::PublicData;
using data_test::temporary_file;
using testing::HasSubstr;

// Which pairs a relation of c2c-summary.csv means on the machine of the matrix.
struct Pairs {
  Relation relation;
  int socket = kAnySocket;
};

struct Matrix {
  TopologySpec topology;
  std::map<std::string, Pairs> relations;
};

constexpr Numbering kBlock = Numbering::kBlock;
constexpr Numbering kAdjacent = Numbering::kAdjacent;
constexpr Numbering kRoundRobin = Numbering::kRoundRobin;

const std::map<std::string, Pairs> kTwoSockets = {{"smt", {Relation::kSibling}},
                                                  {"same_socket_0", {Relation::kCluster, 0}},
                                                  {"same_socket_1", {Relation::kCluster, 1}},
                                                  {"cross_socket", {Relation::kRemote}}};
const std::map<std::string, Pairs> kClusters = {{"smt", {Relation::kSibling}},
                                                {"same_ccx", {Relation::kCluster}},
                                                {"same_socket_0", {Relation::kSocket, 0}},
                                                {"same_socket_1", {Relation::kSocket, 1}},
                                                {"cross_socket", {Relation::kRemote}}};
const std::map<std::string, Pairs> kOneSocket = {{"smt", {Relation::kSibling}},
                                                 {"same_socket", {Relation::kCluster}}};
// One socket whose halves (dies) are told apart: taken as two sockets.
const std::map<std::string, Pairs> kHalves = {{"same_dsu", {Relation::kCluster}},
                                              {"same_half_0", {Relation::kSocket, 0}},
                                              {"same_half_1", {Relation::kSocket, 1}},
                                              {"other_half_same_socket", {Relation::kRemote}}};
const std::map<std::string, Pairs> kDies = {{"same_die_0", {Relation::kCluster, 0}},
                                            {"same_die_1", {Relation::kCluster, 1}},
                                            {"other_die", {Relation::kRemote}}};

// Sockets, nodes per socket, clusters per node, cores per cluster, threads per core, numbering.
const std::map<std::string, Matrix> kMatrices = {
    {"c2c-kcores/altra-q80-30_2node.csv", {{2, 1, 20, 2, 1, kBlock}, kHalves}},
    {"c2c-kcores/altra-q80-30_monolithic.csv", {{2, 1, 20, 2, 1, kBlock}, kHalves}},
    {"c2c-kcores/epyc-7763_2s.csv", {{2, 1, 8, 8, 2, kBlock}, kClusters}},
    {"c2c-kcores/epyc-7r13_2s.csv", {{2, 1, 6, 8, 2, kBlock}, kClusters}},
    {"c2c-kcores/epyc-9454_2s.csv", {{2, 1, 8, 6, 2, kBlock}, kClusters}},
    {"c2c-kcores/epyc-9654_2s_smtoff.csv", {{2, 1, 12, 8, 1, kBlock}, kClusters}},
    {"c2c-kcores/graviton2_c6gd-metal.csv", {{1, 1, 1, 64, 1, kBlock}, kOneSocket}},
    {"c2c-kcores/graviton3_c7g-16xlarge.csv", {{1, 1, 1, 64, 1, kBlock}, kOneSocket}},
    {"c2c-kcores/kunpeng-920-6426.csv", {{2, 1, 1, 32, 1, kBlock}, kDies}},
    {"c2c-kcores/xeon-8275cl_2s.csv", {{2, 1, 1, 24, 2, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-8358_2s_smtoff.csv", {{2, 1, 1, 32, 1, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-8360y_2s.csv", {{2, 1, 1, 36, 2, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-8375c_2s.csv", {{2, 1, 1, 32, 2, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-e5-2620v2_2s.csv", {{2, 1, 1, 6, 2, kRoundRobin}, kTwoSockets}},
    {"c2c-kcores/xeon-e5-2690_2s.csv", {{2, 1, 1, 8, 2, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-e5-4650v2_4s-partial.csv", {{4, 1, 1, 10, 2, kAdjacent}, kTwoSockets}},
    {"c2c-kcores/xeon-gold-6242_2s.csv", {{2, 1, 1, 16, 2, kBlock}, kTwoSockets}},
    {"c2c-kcores/xeon-w2150b_1s_skx10c.csv", {{1, 1, 1, 10, 2, kAdjacent}, kOneSocket}},
    {"c2c-kcores/xeon-w9-3475x_1s_spr.csv", {{1, 1, 1, 36, 1, kBlock}, kOneSocket}},
    {"c2c-kcores/xeon-x5650_2s.csv", {{2, 1, 1, 6, 2, kBlock}, kTwoSockets}},
    {"c2c-soilros/amd_epyc_7713.csv", {{2, 1, 8, 8, 1, kBlock}, kClusters}},
    {"c2c-soilros/intel_xeon_e5_2698_v3.csv", {{2, 1, 1, 16, 2, kAdjacent}, kTwoSockets}},
    {"c2c-soilros/intel_xeon_silver_4114.csv", {{2, 1, 1, 10, 2, kAdjacent}, kTwoSockets}},
};

CoreToCoreMatrix read(const std::string& name) {
  return name.starts_with("c2c-soilros") ? read_soilros_matrix(data_path(name))
                                         : read_kcores_matrix(data_path(name));
}

class CoreToCoreFiles : public PublicData {};

TEST_F(CoreToCoreFiles, EveryFileIsKnown) {
  std::vector<std::string> known;
  for (const auto& [name, matrix] : kMatrices) known.push_back(name);
  std::vector<std::string> found;
  for (const char* folder : {"c2c-kcores", "c2c-soilros"})
    for (const std::string& name : files_of(folder, ".csv"))
      found.push_back(std::string(folder) + "/" + name);
  EXPECT_EQ(found, known);
}

// c2c-summary.csv was computed from the same files by another program; it prints tenths of a ns.
TEST_F(CoreToCoreFiles, CountsAndMediansAreThoseOfTheSummary) {
  int checked = 0;
  for (const CsvRow& row : read_csv(data_path("c2c-summary.csv"),
                                    {"file", "relation", "n_pairs", "min_ns", "p5_ns", "p25_ns",
                                     "median_ns", "p75_ns", "p95_ns", "max_ns"})) {
    const std::string& file = row.fields[0];
    SCOPED_TRACE(file + " " + row.fields[1]);
    ASSERT_TRUE(kMatrices.contains(file));
    const Matrix& matrix = kMatrices.at(file);
    ASSERT_TRUE(matrix.relations.contains(row.fields[1]));
    const Pairs pairs = matrix.relations.at(row.fields[1]);
    const std::vector<Time> found =
        transfers(read(file), Topology(matrix.topology), pairs.relation, pairs.socket);
    ASSERT_EQ(std::to_string(found.size()), row.fields[2]);
    const auto expect_near = [&](Time value, std::size_t field) {
      const Time published = parse_ns(row.fields[field], "c2c-summary.csv", row.line);
      EXPECT_NEAR(value.as_ns(), published.as_ns(), 0.051);
    };
    expect_near(found.front(), 3);
    expect_near(median(found), 6);
    expect_near(found.back(), 9);
    ++checked;
  }
  EXPECT_EQ(checked, 82);
}

TEST_F(CoreToCoreFiles, PartialFilesAreReadAsTheyAre) {
  const CoreToCoreMatrix icelake = read("c2c-kcores/xeon-8360y_2s.csv");
  EXPECT_EQ(icelake.nr_cpus(), 128);  // of 144
  EXPECT_EQ(icelake.nr_measured(), 128 * 127 / 2);
  EXPECT_EQ(read("c2c-kcores/xeon-e5-4650v2_4s-partial.csv").nr_cpus(), 40);  // of 80
  EXPECT_EQ(read("c2c-soilros/intel_xeon_silver_4114.csv").nr_measured(), 40 * 39);
}

TEST(CoreToCore, LowerTriangleIsRowByColumn) {
  const CoreToCoreMatrix matrix =
      read_kcores_matrix(temporary_file("triangle.csv", ",,\r\n10.5,,\r\n20,30.0006,"));
  EXPECT_EQ(matrix.nr_cpus(), 3);
  EXPECT_EQ(matrix.nr_measured(), 3);
  EXPECT_EQ(matrix.one_way(1, 0), Time::ps(10500));
  EXPECT_EQ(matrix.one_way(2, 0), Time::ns(20));
  EXPECT_EQ(matrix.one_way(2, 1), Time::ps(30001));
  EXPECT_FALSE(matrix.measured(0, 1));
  EXPECT_THROW(matrix.one_way(0, 1), SimulationError);
}

TEST(CoreToCore, AHoleInTheTriangleIsNotMeasured) {
  const CoreToCoreMatrix matrix =
      read_kcores_matrix(temporary_file("hole.csv", ",,\n,,\n20,30,\n"));
  EXPECT_EQ(matrix.nr_measured(), 2);
  EXPECT_FALSE(matrix.measured(1, 0));
}

TEST(CoreToCore, SquareHasBothDirections) {
  const CoreToCoreMatrix matrix = read_soilros_matrix(temporary_file("square.csv", ",1\n2,\n"));
  EXPECT_EQ(matrix.one_way(0, 1), Time::ns(1));
  EXPECT_EQ(matrix.one_way(1, 0), Time::ns(2));
}

// 2 sockets of 2 clusters of 1 core, round robin: cores 0 2 | 1 3.
TEST(CoreToCore, TransfersAreThoseOfTheRelationAndSocket) {
  const CoreToCoreMatrix matrix =
      read_kcores_matrix(temporary_file("four.csv", ",,,\n10,,,\n7,20,,\n30,5,40,\n"));
  const Topology topology({2, 1, 2, 1, 1, Numbering::kRoundRobin});
  EXPECT_EQ(transfers(matrix, topology, Relation::kSocket),
            (std::vector<Time>{Time::ns(5), Time::ns(7)}));
  EXPECT_EQ(transfers(matrix, topology, Relation::kSocket, 1), (std::vector<Time>{Time::ns(5)}));
  const std::vector<Time> remote = transfers(matrix, topology, Relation::kRemote);
  EXPECT_EQ(remote, (std::vector<Time>{Time::ns(10), Time::ns(20), Time::ns(30), Time::ns(40)}));
  EXPECT_EQ(median(remote), Time::ns(25));
  EXPECT_EQ(median({Time::ns(1), Time::ns(2), Time::ns(9)}), Time::ns(2));
  EXPECT_TRUE(transfers(matrix, topology, Relation::kSibling).empty());
  EXPECT_THROW(transfers(matrix, Topology({1, 1, 1, 2, 1, kBlock}), Relation::kCluster), UserError);
}

void expect_error(const std::string& content, const std::string& at_and_text, bool square = false) {
  const std::string path = temporary_file("bad.csv", content);
  try {
    square ? read_soilros_matrix(path) : read_kcores_matrix(path);
    ADD_FAILURE() << "no error for " << content;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + at_and_text));
  }
}

TEST(CoreToCore, MistakesAreNamedWithTheirLine) {
  expect_error("", ":1: a matrix has at least two rows");
  expect_error(",,\n1,\n2,3,\n", ":2: 2 columns in a matrix of 3 rows");
  expect_error(",\n1,5\n", ":2: cell 2 of the row must be empty");
  expect_error(",\n1,\n", ":1: cell 2 of the row is empty", true);
  expect_error(",\nabc,\n", ":2: \"abc\" is not a decimal number");
  expect_error(",\n-1,\n", ":2: \"-1\" is not a decimal number");
  expect_error(",\n1.,\n", ":2: \"1.\" is not a decimal number");
  expect_error(",\n1e9,\n", ":2: \"1e9\" is not a decimal number");
  expect_error(",\n12345678901,\n", ":2: \"12345678901\" is not a decimal number");
  expect_error(",\n0.0,\n", ":2: cell 1 of the row must be more than 0 ns");
  expect_error(",\n,\n", ":1: the matrix is empty");
  expect_error(",\n\"1,\n", ":2: a quoted field does not end on its line");
  EXPECT_THROW(read_kcores_matrix("/nonexistent/matrix.csv"), UserError);
}

}  // namespace
}  // namespace idlesim::hw
