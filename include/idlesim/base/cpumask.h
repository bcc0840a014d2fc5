// A set of CPUs with the kernel's verbs; iteration is always in ascending CPU order.
#ifndef IDLESIM_BASE_CPUMASK_H_
#define IDLESIM_BASE_CPUMASK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "idlesim/base/types.h"

namespace idlesim {

class CpuMask {
 public:
  CpuMask() = default;
  explicit CpuMask(int nr_cpus) : words_(static_cast<std::size_t>((nr_cpus + 63) / 64)) {}

  static CpuMask of(int nr_cpus, CpuId cpu) {
    CpuMask mask(nr_cpus);
    mask.set(cpu);
    return mask;
  }
  static CpuMask all(int nr_cpus) {
    CpuMask mask(nr_cpus);
    for (CpuId cpu = 0; cpu < nr_cpus; ++cpu) mask.set(cpu);
    return mask;
  }

  bool test(CpuId cpu) const {
    const std::size_t word = index(cpu);
    return word < words_.size() && (words_[word] >> (cpu % 64) & 1) != 0;
  }
  void set(CpuId cpu) {
    if (index(cpu) >= words_.size()) words_.resize(index(cpu) + 1);
    words_[index(cpu)] |= bit(cpu);
  }
  void clear(CpuId cpu) {
    if (index(cpu) < words_.size()) words_[index(cpu)] &= ~bit(cpu);
  }
  bool empty() const {
    for (std::uint64_t word : words_)
      if (word != 0) return false;
    return true;
  }
  int weight() const {
    int count = 0;
    for (std::uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  // First CPU of the set that is >= cpu, or kNoCpu.
  CpuId next(CpuId cpu) const {
    for (std::size_t word = index(cpu); word < words_.size(); ++word) {
      std::uint64_t bits = words_[word];
      if (word == index(cpu)) bits &= ~std::uint64_t{0} << (cpu % 64);
      if (bits != 0) return static_cast<CpuId>(word * 64) + std::countr_zero(bits);
    }
    return kNoCpu;
  }
  CpuId first() const { return next(0); }
  bool operator==(const CpuMask& other) const = default;

  // for (CpuId cpu : mask)
  class Iterator {
   public:
    Iterator(const CpuMask* mask, CpuId cpu) : mask_(mask), cpu_(cpu) {}
    CpuId operator*() const { return cpu_; }
    Iterator& operator++() {
      cpu_ = mask_->next(cpu_ + 1);
      return *this;
    }
    bool operator==(const Iterator& other) const { return cpu_ == other.cpu_; }

   private:
    const CpuMask* mask_;
    CpuId cpu_;
  };
  Iterator begin() const { return {this, first()}; }
  Iterator end() const { return {this, kNoCpu}; }

 private:
  static std::size_t index(CpuId cpu) { return static_cast<std::size_t>(cpu) / 64; }
  static std::uint64_t bit(CpuId cpu) { return std::uint64_t{1} << (cpu % 64); }
  std::vector<std::uint64_t> words_;
};

}  // namespace idlesim

#endif  // IDLESIM_BASE_CPUMASK_H_
