#include "idlesim/report/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace idlesim::report {

namespace {

constexpr std::size_t kExactUpTo = 50;

// Twice the mid-ranks, which are whole numbers, and the sum of t^3 - t over groups of t equal
// values.
struct Ranks {
  std::vector<std::size_t> twice;
  double ties = 0;
};

Ranks rank(std::span<const double> values) {
  const std::size_t n = values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Ranks ranks{std::vector<std::size_t>(n), 0};
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    while (end < n && values[order[end]] == values[order[begin]]) ++end;
    // Ranks begin + 1 .. end; their mean times two.
    for (std::size_t i = begin; i < end; ++i) ranks.twice[order[i]] = begin + 1 + end;
    const auto t = static_cast<double>(end - begin);
    ranks.ties += t * t * t - t;
    begin = end;
  }
  return ranks;
}

// Two-sided p of a standard normal distance that is not negative.
double normal_p(double z) { return std::min(1.0, std::erfc(z / std::sqrt(2.0))); }

// 2 min(P(sum <= observed), P(sum >= observed)), from how many ways lead to each sum.
double two_sided(const std::vector<double>& ways, std::size_t observed) {
  double below = 0;
  double above = 0;
  double all = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (sum <= observed) below += ways[sum];
    if (sum >= observed) above += ways[sum];
  }
  return std::min(1.0, 2 * std::min(below, above) / all);
}

// Every choice of signs is as likely as any other.
double exact_signed_rank(const Ranks& ranks, std::size_t positive) {
  std::vector<double> ways = {1};
  for (const std::size_t r : ranks.twice) {
    ways.resize(ways.size() + r);
    for (std::size_t sum = ways.size(); sum-- > r;) ways[sum] += ways[sum - r];
  }
  return two_sided(ways, positive);
}

// Every choice of `chosen` of the ranks is as likely as any other.
double exact_rank_sum(const Ranks& ranks, std::size_t chosen, std::size_t observed) {
  const std::size_t all = std::accumulate(ranks.twice.begin(), ranks.twice.end(), std::size_t{0});
  // ways[k][sum]: choices of k ranks with this sum.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(all + 1));
  ways[0][0] = 1;
  for (const std::size_t r : ranks.twice)
    for (std::size_t k = chosen; k >= 1; --k)
      for (std::size_t sum = all; sum >= r; --sum) ways[k][sum] += ways[k - 1][sum - r];
  return two_sided(ways[chosen], observed);
}

}  // namespace

RankTest signed_rank(std::span<const double> differences) {
  std::vector<double> sizes;
  std::vector<bool> is_positive;
  for (const double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::fabs(difference));
    is_positive.push_back(difference > 0);
  }
  if (sizes.empty()) return {};
  const Ranks ranks = rank(sizes);
  const std::size_t n = sizes.size();
  std::size_t positive = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (is_positive[i]) positive += ranks.twice[i];
  const std::size_t all = n * (n + 1);  // twice the sum of the ranks
  RankTest result;
  result.effect = 2 * static_cast<double>(positive) / static_cast<double>(all) - 1;
  if (n <= kExactUpTo) {
    result.p = exact_signed_rank(ranks, positive);
    return result;
  }
  const auto count = static_cast<double>(n);
  const double variance = count * (count + 1) * (2 * count + 1) / 24 - ranks.ties / 48;
  const double distance =
      std::fabs(static_cast<double>(positive) - static_cast<double>(all) / 2) / 2;
  result.p = normal_p(std::max(0.0, distance - 0.5) / std::sqrt(variance));
  return result;
}

RankTest mann_whitney(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || second.empty()) return {};
  std::vector<double> together(first.begin(), first.end());
  together.insert(together.end(), second.begin(), second.end());
  const Ranks ranks = rank(together);
  const auto rank_sum = [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += ranks.twice[i];
    return sum;
  };
  const std::size_t n1 = first.size();
  const std::size_t n2 = second.size();
  const std::size_t n = n1 + n2;
  const auto pairs = static_cast<double>(n1) * static_cast<double>(n2);
  // U of the second side: pairs in which it is larger, equal ones as halves.
  const double u = static_cast<double>(rank_sum(n1, n) - n2 * (n2 + 1)) / 2;
  RankTest result;
  result.effect = 2 * u / pairs - 1;
  if (n <= kExactUpTo) {
    result.p = n1 < n2 ? exact_rank_sum(ranks, n1, rank_sum(0, n1))
                       : exact_rank_sum(ranks, n2, rank_sum(n1, n));
    return result;
  }
  const auto count = static_cast<double>(n);
  const double variance = pairs / 12 * (count + 1 - ranks.ties / (count * (count - 1)));
  if (variance <= 0) return result;
  result.p = normal_p(std::max(0.0, std::fabs(u - pairs / 2) - 0.5) / std::sqrt(variance));
  return result;
}

double smallest_signed_rank_p(int pairs) {
  double p = 2;
  for (int i = 0; i < pairs; ++i) p /= 2;
  return std::min(1.0, p);
}

double smallest_mann_whitney_p(int first, int second) {
  if (first <= 0 || second <= 0) return 1;
  double p = 2;  // over the number of choices of `second` of all
  for (int i = 1; i <= second; ++i) p *= static_cast<double>(i) / (first + i);
  return std::min(1.0, p);
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, p[order[i]] * static_cast<double>(order.size() - i));
    corrected[order[i]] = std::min(1.0, largest);
  }
  return corrected;
}

}  // namespace idlesim::report
