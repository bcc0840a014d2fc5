// A decimal number as the user wrote it, without floating point: 1.333 stays 1333 thousandths.
#ifndef IDLESIM_CONFIG_DECIMAL_H_
#define IDLESIM_CONFIG_DECIMAL_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idlesim::config {

// mantissa * 10^-scale, kept without trailing zeros, so that equal numbers have one form.
class Decimal {
 public:
  constexpr Decimal() = default;
  explicit Decimal(std::int64_t integer) : Decimal(integer, 0) {}
  Decimal(std::int64_t mantissa, int scale);

  // Reads a JSON number. Nothing if the text is none, if its significant digits do not fit into 63
  // bits, or if its exponent is beyond +-400.
  static std::optional<Decimal> parse(std::string_view text);

  std::int64_t mantissa() const { return mantissa_; }
  int scale() const { return scale_; }

  // The number times 10^digits as an integer, rounded half away from zero. Nothing on overflow.
  std::optional<std::int64_t> to_scaled(int digits) const;
  // The number if it is an integer that fits into 64 bits.
  std::optional<std::int64_t> to_integer() const;
  // For reports only.
  double as_double() const;
  // Shortest JSON form: "1.333", "250000", "1e-30". parse(text()) gives the same number.
  std::string text() const;

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

 private:
  std::int64_t mantissa_ = 0;
  int scale_ = 0;
};

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_DECIMAL_H_
