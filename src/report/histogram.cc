#include "idlesim/report/histogram.h"

#include <algorithm>
#include <cmath>

namespace idlesim::report {

Histogram::Bin Histogram::bin_of(std::size_t index) {
  if (index < 2 * kSubBins) {
    const auto value = static_cast<std::int64_t>(index);
    return {value, value, 0};
  }
  const std::size_t shift = index / kSubBins - 1;
  const std::uint64_t lower = static_cast<std::uint64_t>(index % kSubBins + kSubBins) << shift;
  const std::uint64_t upper = lower + ((std::uint64_t{1} << shift) - 1);
  return {static_cast<std::int64_t>(lower), static_cast<std::int64_t>(upper), 0};
}

std::size_t Histogram::add_page(std::size_t page) {
  const std::size_t place = counts_.size() / kPageBins;
  counts_.resize(counts_.size() + kPageBins);
  page_of_[page] = static_cast<std::uint16_t>(place);
  return place;
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t page = 0; page < kPages; ++page) {
    if (other.page_of_[page] == kNoPage) continue;
    const std::size_t to = page_of_[page] == kNoPage ? add_page(page) : page_of_[page];
    const std::size_t from = other.page_of_[page];
    for (std::size_t bin = 0; bin < kPageBins; ++bin)
      counts_[to * kPageBins + bin] += other.counts_[from * kPageBins + bin];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double Histogram::mean() const {
  return empty() ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

double Histogram::stdev() const {
  if (count_ < 2) return 0.0;
  const std::vector<Bin> filled = bins();
  const auto n = static_cast<double>(count_);
  double mean = 0.0;
  for (const Bin& bin : filled)
    mean += static_cast<double>(middle(bin)) * (static_cast<double>(bin.count) / n);
  double squares = 0.0;
  for (const Bin& bin : filled) {
    const double distance = static_cast<double>(middle(bin)) - mean;
    squares += distance * distance * static_cast<double>(bin.count);
  }
  return std::sqrt(squares / (n - 1.0));
}

std::int64_t Histogram::rank(double q, std::int64_t n) {
  CHECK(q >= 0.0 && q <= 1.0);
  // In whole numbers, so that the rank of 0.07 of 100 samples is 7 and not 8.
  constexpr std::int64_t kParts = 1'000'000'000;
  const Int128 scaled = static_cast<Int128>(std::llround(q * kParts)) * n;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>((scaled + kParts - 1) / kParts));
}

std::int64_t Histogram::quantile(double q) const {
  const std::int64_t wanted = rank(q, count_);
  if (empty()) return 0;
  if (wanted == 1) return min_;
  if (wanted == count_) return max_;
  std::int64_t seen = 0;
  for (const Bin& bin : bins()) {
    seen += bin.count;
    if (seen >= wanted) return std::clamp(middle(bin), min_, max_);
  }
  CHECK(false, "the bins hold fewer samples than were counted");
  return max_;
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> filled;
  for (std::size_t page = 0; page < kPages; ++page) {
    if (page_of_[page] == kNoPage) continue;
    for (std::size_t i = 0; i < kPageBins; ++i) {
      const std::int64_t count = counts_[page_of_[page] * kPageBins + i];
      if (count == 0) continue;
      filled.push_back(bin_of(page * kPageBins + i));
      filled.back().count = count;
    }
  }
  return filled;
}

bool Histogram::operator==(const Histogram& other) const {
  return count_ == other.count_ && sum_ == other.sum_ && min_ == other.min_ && max_ == other.max_ &&
         bins() == other.bins();
}

}  // namespace idlesim::report
