// What every scheduler is measured with: the same delays in the same order. C++17, since a SystemC
// library wants its users compiled for the standard it was compiled for.
#ifndef IDLESIM_BENCH_PATTERNS_H_
#define IDLESIM_BENCH_PATTERNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace idlesim::bench {

inline constexpr int kCpus = 128;                        // relay and re-arm
inline constexpr std::int64_t kTimerPs = 1'000'000'000;  // re-arm: moved on before it ever fires
inline constexpr std::int64_t kEvents = 100'000;         // per benchmark iteration

// "exp": exponential with a mean of 1 us. "busy": what a busy machine looks like, nine short steps
// of 20 to 200 ns to one timer of 10 us to 1 ms.
class Delays {
 public:
  explicit Delays(const std::string& kind);
  std::int64_t next_ps() { return ps_[++cursor_ & kMask]; }
  // Any of n, for the choice of a partner.
  std::size_t below(std::size_t n) {
    const std::uint64_t bits = ps_[++cursor_ & kMask] * std::uint64_t{0x9E3779B97F4A7C15};
    return (bits >> 32) * n >> 32;
  }

 private:
  // Long enough that no branch predictor learns it, short enough to stay in the caches.
  static constexpr std::size_t kMask = (1 << 14) - 1;
  std::vector<std::uint32_t> ps_;
  std::size_t cursor_ = 0;
};

}  // namespace idlesim::bench

#endif  // IDLESIM_BENCH_PATTERNS_H_
