#include "idlesim/sim/random.h"

#include <algorithm>
#include <bit>

#include "idlesim/base/check.h"

namespace idlesim::sim {

namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

std::uint32_t low_word(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high_word(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

// FNV-1a, 64 bits.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::array<std::uint32_t, 4> philox_of(std::uint64_t low, std::uint64_t high, std::uint64_t key) {
  return philox4x32({low_word(low), high_word(low), low_word(high), high_word(high)},
                    {low_word(key), high_word(key)});
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_word(b) ^ counter[1] ^ key[0], low_word(b), high_word(a) ^ counter[3] ^ key[1],
               low_word(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The four names are more bits than Philox takes, so they are first mixed by Philox itself into 128
// bits: the key and the upper half of the counter.
Random::Random(std::uint64_t seed, std::uint64_t run, std::string_view stream,
               std::uint64_t entity) {
  const auto first = philox_of(run, entity, seed);
  const auto mixed =
      philox_of(hash_name(stream), join(first[0], first[1]), join(first[2], first[3]));
  key_ = {mixed[0], mixed[1]};
  stream_ = join(mixed[2], mixed[3]);
}

std::uint64_t Random::next() {
  if (left_ == 0) {
    const auto block = philox4x32(
        {low_word(block_), high_word(block_), low_word(stream_), high_word(stream_)}, key_);
    ++block_;
    numbers_ = {join(block[2], block[3]), join(block[0], block[1])};
    left_ = 2;
  }
  return numbers_[static_cast<std::size_t>(--left_)];
}

// D. Lemire, "Fast random integer generation in an interval", 2019: the upper half of n * random,
// where the few lower halves that would favour some results are drawn again.
std::uint64_t Random::below(std::uint64_t n) {
  CHECK(n > 0, "an empty range");
  Uint128 product = static_cast<Uint128>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t unfair = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < unfair) product = static_cast<Uint128>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t Random::uniform_int(std::int64_t low, std::int64_t high) {
  CHECK(low <= high, "an empty range");
  const std::uint64_t count =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = count == 0 ? next() : below(count);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

// The side is drawn by its area; on a side the distance from the mode is the smaller of two uniform
// draws, whose density falls linearly to zero.
std::int64_t Random::triangular(std::int64_t low, std::int64_t mode, std::int64_t high) {
  CHECK(low <= mode && mode <= high, "the mode lies outside the range");
  if (low == high) return low;
  const auto left = static_cast<std::uint64_t>(mode - low);
  const auto right = static_cast<std::uint64_t>(high - mode);
  const bool is_left = below(left + right) < left;
  const std::uint64_t width = (is_left ? left : right) + 1;
  const std::uint64_t first = below(width);
  const auto distance = static_cast<std::int64_t>(std::min(first, below(width)));
  return is_left ? mode - distance : mode + distance;
}

Time Random::uniform(Time low, Time high) {
  CHECK(low < high, "an empty range");
  return low + Time::ps(static_cast<std::int64_t>(
                   below(static_cast<std::uint64_t>((high - low).count_ps()))));
}

std::uint64_t minus_ln_q57(std::uint64_t x) {
  constexpr std::int64_t kOne = std::int64_t{1} << 62;  // all fixed-point numbers are Q62
  constexpr std::uint64_t kSqrt2 = 6521908912666391106;
  constexpr std::int64_t kLn2 = 3196577161300663915;

  // (x + 1/2) / 2^64 = odd / 2^65 = mantissa * 2^-exponent, mantissa in [1, 2).
  const Uint128 odd = static_cast<Uint128>(x) * 2 + 1;
  const int bits = std::bit_width(x) + 1;
  int exponent = 66 - bits;
  auto mantissa = static_cast<std::uint64_t>(bits <= 63 ? odd << (63 - bits) : odd >> (bits - 63));
  // Now in [1/sqrt 2, sqrt 2), so that nothing cancels near ln 1.
  if (mantissa >= kSqrt2) {
    mantissa /= 2;
    --exponent;
  }
  // ln m = 2 atanh(z), z = (m - 1) / (m + 1), |z| < 0.172: the tenth term is below 10^-15.
  const auto m = static_cast<Int128>(mantissa);
  const auto z = static_cast<std::int64_t>((m - kOne) * kOne / (m + kOne));
  const auto square = static_cast<std::int64_t>((static_cast<Int128>(z) * z) >> 62);
  std::int64_t power = z;
  std::int64_t sum = 0;
  for (int n = 1; n < 19; n += 2) {
    sum += power / n;
    power = static_cast<std::int64_t>((static_cast<Int128>(power) * square) >> 62);
  }
  const Int128 result = static_cast<Int128>(kLn2) * exponent - static_cast<Int128>(sum) * 2;
  return static_cast<std::uint64_t>((result + 16) >> 5);
}

Time Random::exponential(Time mean) {
  CHECK(mean >= Time(), "a negative mean");
  const Uint128 product =
      static_cast<Uint128>(static_cast<std::uint64_t>(mean.count_ps())) * minus_ln_q57(next());
  const Uint128 rounded = (product + (Uint128{1} << 56)) >> 57;
  const auto limit = static_cast<Uint128>(Time::never().count_ps() - 1);
  return Time::ps(static_cast<std::int64_t>(std::min(rounded, limit)));
}

}  // namespace idlesim::sim
