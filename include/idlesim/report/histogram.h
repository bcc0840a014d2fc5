// Log-linear histogram of non-negative integers (picoseconds or counts) with a bounded relative
// error. Values below 2048 have a bin each; above, every power of two is split into 1024 bins of
// equal width, so a bin is never wider than 1/1024 of its values (three significant digits).
// Minimum, maximum, number and sum are exact. `merge` only adds counts: it loses nothing, and the
// order of merging does not show.
#ifndef IDLESIM_REPORT_HISTOGRAM_H_
#define IDLESIM_REPORT_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "idlesim/base/check.h"

namespace idlesim::report {

__extension__ using Int128 = __int128;

class Histogram {
 public:
  // Values lower..upper, both included.
  struct Bin {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int64_t count = 0;
    bool operator==(const Bin&) const = default;
  };

  // A quantile differs from the sample of that rank by at most this share of it.
  static constexpr double kMaxRelativeError = 1.0 / 2048;

  Histogram() { page_of_.fill(kNoPage); }

  // `value` must not be negative. A few nanoseconds; allocates only for a page never used before.
  void record(std::int64_t value, std::int64_t count = 1) {
    CHECK(value >= 0 && count > 0);
    const std::size_t index = index_of(value);
    std::size_t page = page_of_[index / kPageBins];
    if (page == kNoPage) [[unlikely]]
      page = add_page(index / kPageBins);
    counts_[page * kPageBins + index % kPageBins] += count;
    count_ += count;
    sum_ += static_cast<Int128>(value) * count;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void merge(const Histogram& other);

  std::int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  Int128 sum() const { return sum_; }
  // 0 if empty.
  std::int64_t min() const { return empty() ? 0 : min_; }
  std::int64_t max() const { return empty() ? 0 : max_; }
  double mean() const;

  // Standard deviation of the samples (divisor n - 1), from the middles of the bins; 0 for fewer
  // than two samples.
  double stdev() const;

  // The rank, counted from 1, of the q-quantile of n ascending samples: ceil(q * n), at least 1. q
  // is in [0, 1] and taken to nine decimals.
  static std::int64_t rank(double q, std::int64_t n);

  // The sample of rank(q, count()): exact for the first and the last, else the middle of its bin.
  // 0 if empty.
  std::int64_t quantile(double q) const;

  // The bins that hold samples, ascending.
  std::vector<Bin> bins() const;

  // Same counts per bin and same minimum, maximum and sum.
  bool operator==(const Histogram& other) const;

 private:
  static constexpr std::size_t kSubBins = 1024;  // bins per power of two
  static constexpr int kSubBits = 11;            // values of this many bits have a bin each
  static constexpr std::size_t kPageBins = 128;
  static constexpr std::size_t kBins =
      static_cast<std::size_t>(63 - kSubBits) * kSubBins + 2 * kSubBins;
  static constexpr std::size_t kPages = kBins / kPageBins;
  static constexpr std::uint16_t kNoPage = 0xffff;

  static std::size_t index_of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    const int width = std::bit_width(bits);
    const int shift = width > kSubBits ? width - kSubBits : 0;
    return static_cast<std::size_t>(shift) * kSubBins + static_cast<std::size_t>(bits >> shift);
  }
  static Bin bin_of(std::size_t index);
  static std::int64_t middle(const Bin& bin) { return bin.lower + (bin.upper - bin.lower) / 2; }
  std::size_t add_page(std::size_t page);

  std::int64_t count_ = 0;
  std::int64_t min_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ = -1;
  Int128 sum_ = 0;
  // Pages of bins are allocated when first touched; page_of_ gives a page's place in counts_.
  std::array<std::uint16_t, kPages> page_of_;
  std::vector<std::int64_t> counts_;
};

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_HISTOGRAM_H_
