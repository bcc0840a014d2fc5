// Named streams of random numbers. A stream is a function of (seed, run, name, entity) and of how
// many numbers were drawn from it; of nothing else. So the sides of a comparison see the same
// draws, and a new entity or stream does not shift another's numbers. Integer arithmetic only: the
// numbers are the same on every host and with every compiler.
#ifndef IDLESIM_SIM_RANDOM_H_
#define IDLESIM_SIM_RANDOM_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "idlesim/base/types.h"

namespace idlesim::sim {

// Philox4x32-10: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t run, std::string_view stream, std::uint64_t entity);

  // All 64 bits uniform.
  std::uint64_t next();
  // Uniform in [0, n), without bias. n > 0.
  std::uint64_t below(std::uint64_t n);
  // Uniform in [low, high]. low <= high.
  std::int64_t uniform_int(std::int64_t low, std::int64_t high);
  // Density rises linearly from low to mode and falls linearly to high. low <= mode <= high, and
  // high - low fits an int64.
  std::int64_t triangular(std::int64_t low, std::int64_t mode, std::int64_t high);
  // Uniform in [low, high). low < high.
  Time uniform(Time low, Time high);
  // Exponential with this mean, to the nearest picosecond. mean >= 0; the largest draw is 45 means.
  Time exponential(Time mean);

 private:
  std::array<std::uint32_t, 2> key_{};
  std::uint64_t stream_ = 0;  // upper half of the counter
  std::uint64_t block_ = 0;   // lower half: the block that is drawn next
  std::array<std::uint64_t, 2> numbers_{};
  int left_ = 0;  // how many of numbers_ are unused
};

// -ln((x + 1/2) / 2^64) in units of 2^-57, for every x; relative error below 10^-9 wherever the
// result is at least 2^-24.
std::uint64_t minus_ln_q57(std::uint64_t x);

}  // namespace idlesim::sim

#endif  // IDLESIM_SIM_RANDOM_H_
