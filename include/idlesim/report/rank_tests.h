// Rank tests for a handful of runs. They assume no distribution: latencies have tails and modes.
// Two-sided. Exact, ties included, where that is cheap; else the normal approximation with
// corrections for ties and continuity. Sums of whole numbers in doubles: every compiler and host
// gives the same p (the approximation needs erfc() of the C library).
//   F. Wilcoxon, "Individual comparisons by ranking methods", 1945
//   H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is
//   stochastically larger than the other", 1947
//   S. Holm, "A simple sequentially rejective multiple test procedure", 1979
#ifndef IDLESIM_REPORT_RANK_TESTS_H_
#define IDLESIM_REPORT_RANK_TESTS_H_

#include <span>
#include <vector>

namespace idlesim::report {

struct RankTest {
  double p = 1;
  // Rank-biserial correlation: 1 if the second side is larger throughout, -1 if it is smaller.
  double effect = 0;
  bool operator==(const RankTest&) const = default;
};

// Wilcoxon signed-rank over the differences second - first of pairs. Zeros are left out; with
// nothing else p is 1. Exact up to 50 differences that are not zero.
RankTest signed_rank(std::span<const double> differences);

// Mann-Whitney U. Exact up to 50 values in all; with none on a side p is 1.
RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

// The smallest p that these numbers of pairs or values can give; 1 for none.
double smallest_signed_rank_p(int pairs);
double smallest_mann_whitney_p(int first, int second);

// Holm's step-down correction: the chance of a false finding anywhere among the tests stays below
// alpha if those with a corrected p below alpha are taken as findings. Same order as given.
std::vector<double> holm(std::span<const double> p);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_RANK_TESTS_H_
