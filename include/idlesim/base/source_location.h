// Where in the source a call stands: std::source_location, or what stands in for it with clang 14,
// which does not have it.
#ifndef IDLESIM_BASE_SOURCE_LOCATION_H_
#define IDLESIM_BASE_SOURCE_LOCATION_H_

#include <cstdint>
#include <source_location>

namespace idlesim {

#ifdef __cpp_lib_source_location

// One pointer: every await of the model stores one.
using SourceLocation = std::source_location;

#else

class SourceLocation {
 public:
  constexpr SourceLocation() = default;
  // As a default argument it names the caller of the function that has it.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          std::uint_least32_t line = __builtin_LINE()) {
    SourceLocation here;
    here.file_ = file;
    here.function_ = function;
    here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr const char* function_name() const { return function_; }
  constexpr std::uint_least32_t line() const { return line_; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  std::uint_least32_t line_ = 0;
};

#endif

}  // namespace idlesim

#endif  // IDLESIM_BASE_SOURCE_LOCATION_H_
