// Where in the source a call stands. std::source_location, which clang 14 does not have.
#ifndef IDLESIM_BASE_SOURCE_LOCATION_H_
#define IDLESIM_BASE_SOURCE_LOCATION_H_

namespace idlesim {

struct SourceLocation {
  const char* file = "";
  const char* function = "";
  int line = 0;

  // As a default argument it names the caller of the function that has it.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          int line = __builtin_LINE()) {
    return {file, function, line};
  }
};

}  // namespace idlesim

#endif  // IDLESIM_BASE_SOURCE_LOCATION_H_
