// Public tables of measured or documented hardware numbers: contended read-modify-writes, Intel
// MLC cache-to-cache latencies, idle-state tables. For tests and the importer of machine files.
#ifndef IDLESIM_HW_MEASURED_TABLES_H_
#define IDLESIM_HW_MEASURED_TABLES_H_

#include <optional>
#include <string>
#include <vector>

#include "idlesim/base/types.h"

namespace idlesim::hw {

// travisdowns/concurrency-hierarchy-bench, results/*/combined.csv: threads that hammer one line.
struct ContentionPoint {
  std::string implementation;  // "atomic add", "cas add", "mutex add", ...
  int threads = 0;
  int trials = 0;
  Time per_operation;  // mean over the trials, as one thread sees it
  // Time of the line: an operation of one thread takes as long as one of every other thread.
  Time per_line_operation() const { return per_operation / threads; }
};

// In the order of (implementation, threads).
std::vector<ContentionPoint> read_contention(const std::string& path);

// A latency of MLC: one number, or a range over the pairs ("175.7-176.0"), maybe with the
// condition it was read under ("79 (20000 delay)").
struct MlcLatency {
  Time low;
  Time high;
  std::string condition;
};

// mlc-c2c.csv: whole load latencies. HIT and HITM: the line is in the other core's L2, unmodified
// or modified; home: the socket whose memory the line belongs to.
struct MlcRow {
  std::string machine;
  std::optional<MlcLatency> dram_local;
  std::optional<MlcLatency> dram_remote;
  std::optional<MlcLatency> l2_hit;
  std::optional<MlcLatency> l2_hitm;
  std::optional<MlcLatency> remote_hitm_home_writer;
  std::optional<MlcLatency> remote_hitm_home_reader;
  std::string source;
};

std::vector<MlcRow> read_mlc(const std::string& path);

// cpuidle-tables.csv: what a cpuidle driver tells the governor.
struct CpuidleRow {
  std::string machine;
  std::string driver;
  std::string state;
  Time exit_latency;
  std::optional<Time> target_residency;  // kernels of 2011 did not show it
  std::string source;                    // "same" of the file is replaced by what it refers to
};

std::vector<CpuidleRow> read_cpuidle_tables(const std::string& path);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_MEASURED_TABLES_H_
