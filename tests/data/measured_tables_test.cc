#include "idlesim/hw/measured_tables.h"

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

class MeasuredTables : public PublicData {};

const ContentionPoint& point(const std::vector<ContentionPoint>& points,
                             const std::string& implementation, int threads) {
  for (const ContentionPoint& p : points)
    if (p.implementation == implementation && p.threads == threads) return p;
  throw UserError("no point " + implementation + " " + std::to_string(threads));
}

// Expected values were computed from the same files with awk; two divisions round down to a ps.
TEST_F(MeasuredTables, EveryContentionFile) {
  struct Expected {
    std::size_t points;
    int trials;
    std::string implementation;
    std::map<int, Time> per_line;  // by threads
  };
  const std::map<std::string, Expected> files = {
      {"g1-16.combined.csv",
       {252, 15, "atomic add", {{1, Time::ps(8800)}, {2, Time::ps(15350)}, {16, Time::ps(85879)}}}},
      {"g2-16.combined.csv",
       {252, 15, "atomic add", {{1, Time::ps(5300)}, {2, Time::ps(8500)}, {16, Time::ps(9397)}}}},
      {"icl.combined.csv",
       {84, 15, "atomic add", {{1, Time::ps(6100)}, {2, Time::ps(16423)}, {4, Time::ps(17357)}}}},
      {"skl.combined.csv",
       {84, 15, "atomic add", {{1, Time::ps(7000)}, {2, Time::ps(22063)}, {4, Time::ps(24108)}}}},
  };
  std::vector<std::string> known;
  for (const auto& [name, expected] : files) known.push_back(name);
  EXPECT_EQ(files_of("contention-travisdowns", ".csv"), known);
  for (const auto& [name, expected] : files) {
    SCOPED_TRACE(name);
    const auto points = read_contention(data_path("contention-travisdowns/" + name));
    EXPECT_EQ(points.size(), expected.points);
    for (const auto& [threads, per_line] : expected.per_line) {
      const ContentionPoint& p = point(points, expected.implementation, threads);
      EXPECT_EQ(p.trials, expected.trials);
      EXPECT_NEAR(p.per_line_operation().as_ns(), per_line.as_ns(), 0.0021) << threads;
    }
  }
}

TEST(Contention, MeanOverTrials) {
  const auto points = read_contention(
      temporary_file("contention.csv",
                     "Trial,Cores,Implementation,Nanos/Op,Total,Rlen\n"
                     "0,4,cas add,100.0,1,1\n1,4,cas add,120.0,1,1\n0,1,cas add,8.5,1,1\n"));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].threads, 1);
  EXPECT_EQ(points[1].threads, 4);
  EXPECT_EQ(points[1].trials, 2);
  EXPECT_EQ(points[1].per_operation, Time::ns(110));
  EXPECT_EQ(points[1].per_line_operation(), Time::ps(27500));
}

TEST(Contention, MistakesAreNamedWithTheirLine) {
  const auto error_of = [](const std::string& content) -> std::string {
    try {
      read_contention(temporary_file("contention.csv", content));
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string header = "Trial,Cores,Implementation,Nanos/Op,Total,Rlen\n";
  EXPECT_THAT(error_of("Trial,Cores\n"), HasSubstr(":1: the header must be Trial,Cores,Impl"));
  EXPECT_THAT(error_of(header + "0,1,cas add,8.5\n"), HasSubstr(":2: 4 fields where the header"));
  EXPECT_THAT(error_of(header + "0,0,cas add,8.5,1,1\n"), HasSubstr(":2: 0 threads"));
  EXPECT_THAT(error_of(header + "\n0,x,cas add,8.5,1,1\n"), HasSubstr(":3: \"x\" is not a whole"));
}

TEST_F(MeasuredTables, Mlc) {
  const std::vector<MlcRow> table = read_mlc(data_path("mlc-c2c.csv"));
  ASSERT_EQ(table.size(), 6U);
  const MlcRow& skylake = table[0];
  EXPECT_THAT(skylake.machine, HasSubstr("Skylake-SP 2x28C, 2.5 GHz TSC"));
  EXPECT_EQ(skylake.dram_local->low, Time::ps(81300));
  EXPECT_EQ(skylake.l2_hitm->low, Time::ps(53800));
  EXPECT_EQ(skylake.remote_hitm_home_writer->high, Time::ps(113900));
  EXPECT_EQ(skylake.remote_hitm_home_reader->low, Time::ps(175700));
  EXPECT_EQ(skylake.remote_hitm_home_reader->high, Time::ps(176000));
  EXPECT_EQ(skylake.source, "FD.io CSIT calibration page, SUT T22, 2018");
  EXPECT_EQ(table[1].dram_local->low, Time::ns(79));
  EXPECT_EQ(table[1].dram_local->condition, "20000 delay");
  EXPECT_FALSE(table[1].dram_remote.has_value());
  for (const MlcRow& row : table) {
    ASSERT_TRUE(row.l2_hitm && row.remote_hitm_home_writer && row.remote_hitm_home_reader);
    EXPECT_GT(row.remote_hitm_home_writer->low, row.l2_hitm->high) << row.machine;
  }
}

TEST_F(MeasuredTables, Cpuidle) {
  const std::vector<CpuidleRow> table = read_cpuidle_tables(data_path("cpuidle-tables.csv"));
  ASSERT_EQ(table.size(), 31U);
  EXPECT_EQ(table[0].state, "NHM-C1");
  EXPECT_EQ(table[0].exit_latency, Time::us(3));
  EXPECT_FALSE(table[0].target_residency.has_value());
  const CpuidleRow& last = table.back();
  EXPECT_EQ(last.machine, "EPYC (as quoted by M. Gorman 2020)");
  EXPECT_EQ(last.driver, "acpi_idle");
  EXPECT_EQ(last.state, "C2 (I/O 0x814)");
  EXPECT_EQ(last.exit_latency, Time::us(400));
  EXPECT_EQ(last.target_residency, Time::us(800));
  EXPECT_EQ(last.source, "list archive");
  for (const CpuidleRow& row : table) EXPECT_NE(row.source, "same");
}

}  // namespace
}  // namespace idlesim::hw
