#include "idlesim/config/decimal.h"

#include <charconv>
#include <limits>

namespace idlesim::config {
namespace {

__extension__ using Int128 = __int128;

constexpr int kMaxExponent = 400;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Adds one digit to the number that is read; false when it no longer fits. Zeros are held back
// until a non-zero digit follows, so that 1000000000000000000000 is read as 1e21.
struct DigitReader {
  std::int64_t mantissa = 0;
  int pending_zeros = 0;

  bool push(int digit) {
    if (digit == 0) {
      if (mantissa != 0) ++pending_zeros;
      return true;
    }
    for (; pending_zeros > 0; --pending_zeros) {
      if (mantissa > kMax / 10) return false;
      mantissa *= 10;
    }
    if (mantissa > (kMax - digit) / 10) return false;
    mantissa = mantissa * 10 + digit;
    return true;
  }
};

}  // namespace

Decimal::Decimal(std::int64_t mantissa, int scale) : mantissa_(mantissa), scale_(scale) {
  if (mantissa_ == 0) scale_ = 0;
  while (mantissa_ != 0 && mantissa_ % 10 == 0) {
    mantissa_ /= 10;
    --scale_;
  }
}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  const std::size_t first_digit = at;
  DigitReader digits;
  while (at < text.size() && is_digit(text[at]))
    if (!digits.push(text[at++] - '0')) return std::nullopt;
  if (at == first_digit || (text[first_digit] == '0' && at > first_digit + 1)) return std::nullopt;
  int fraction = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t first = ++at;
    for (; at < text.size() && is_digit(text[at]); ++at, ++fraction) {
      if (fraction >= (1 << 20) || !digits.push(text[at] - '0')) return std::nullopt;
    }
    if (at == first) return std::nullopt;
  }
  int exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') {
      ++at;
      if (at == text.size() || !is_digit(text[at])) return std::nullopt;
    }
    const auto [end, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (error != std::errc{}) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
  }
  if (at != text.size()) return std::nullopt;
  if (digits.mantissa == 0) return Decimal();
  if (exponent < -kMaxExponent || exponent > kMaxExponent) return std::nullopt;
  const int scale = fraction - digits.pending_zeros - exponent;
  if (scale < -kMaxExponent || scale > kMaxExponent) return std::nullopt;
  return Decimal(negative ? -digits.mantissa : digits.mantissa, scale);
}

std::optional<std::int64_t> Decimal::to_scaled(int digits) const {
  Int128 value = mantissa_;
  int power = digits - scale_;
  for (; power > 0 && value != 0; --power) {
    value *= 10;
    if (value > kMax || value < -kMax) return std::nullopt;
  }
  if (power < -19) return 0;  // below half of the last place, whatever the mantissa
  Int128 divisor = 1;
  for (; power < 0; ++power) divisor *= 10;
  const Int128 half = divisor / 2;
  value = (value + (value < 0 ? -half : half)) / divisor;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> Decimal::to_integer() const {
  // Without trailing zeros, a positive scale means a fraction.
  return scale_ > 0 ? std::nullopt : to_scaled(0);
}

double Decimal::as_double() const {
  const std::string digits = text();
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string Decimal::text() const {
  std::string digits = std::to_string(mantissa_);
  if (scale_ == 0) return digits;
  if (scale_ < 0) {
    // Plain integers as far as 64 bits reach, an exponent beyond.
    if (const auto integer = to_scaled(0)) return std::to_string(*integer);
    return digits + "e" + std::to_string(-scale_);
  }
  const std::size_t sign = mantissa_ < 0 ? 1 : 0;
  const std::size_t scale = static_cast<std::size_t>(scale_);
  if (scale > 18) return digits + "e-" + std::to_string(scale_);
  if (digits.size() - sign <= scale) digits.insert(sign, scale - (digits.size() - sign) + 1, '0');
  digits.insert(digits.size() - scale, 1, '.');
  return digits;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const auto sign = [](std::int64_t n) { return n < 0 ? -1 : n > 0 ? 1 : 0; };
  if (sign(mantissa_) != sign(other.mantissa_) || mantissa_ == 0)
    return sign(mantissa_) <=> sign(other.mantissa_);
  // Same sign: compare at the finer scale. If that overflows, the coarser number is the one that
  // is farther from zero, because the finer one fits into 64 bits.
  const bool this_coarser = scale_ < other.scale_;
  const Decimal& coarse = this_coarser ? *this : other;
  const Decimal& fine = this_coarser ? other : *this;
  std::strong_ordering order = std::strong_ordering::equal;
  if (const auto scaled = coarse.to_scaled(fine.scale_))
    order = *scaled <=> fine.mantissa_;
  else
    order = coarse.mantissa_ <=> 0;
  return this_coarser ? order : 0 <=> order;
}

}  // namespace idlesim::config
