#include "idlesim/config/nearest.h"

#include <algorithm>
#include <numeric>

namespace idlesim::config {
namespace {

// Nobody mistypes a word this long; the limit bounds the work that garbage can cause.
constexpr std::size_t kLongestWord = 64;

}  // namespace

// Optimal string alignment: the dynamic programme over prefixes, three rows at a time.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestWord) return {};
  const int length = static_cast<int>(word.size());
  int best_distance = std::min(std::clamp(length / 3, 1, 3), length - 1) + 1;
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word.size() + 3 || word.size() > candidate.size() + 3) continue;
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return nearest(word, views);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? std::string() : "; did you mean \"" + best + "\"?";
}

}  // namespace idlesim::config
