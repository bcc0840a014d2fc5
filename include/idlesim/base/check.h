// Two kinds of failure: CHECK for our bugs, UserError for the user's input.
#ifndef IDLESIM_BASE_CHECK_H_
#define IDLESIM_BASE_CHECK_H_

#include <stdexcept>
#include <string>
#include <vector>

namespace idlesim {

// The user's input is wrong: exit code 2. `what()` holds every finding, one a line.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

// An invariant of the model does not hold, or a run cannot progress: exit code 3.
// `what()` names the invariant; the handler adds each CPU's story.
class SimulationError : public std::runtime_error {
 public:
  explicit SimulationError(const std::string& message) : std::runtime_error(message) {}
};

[[noreturn]] void check_failed(const char* expression, const std::string& why, const char* file,
                               int line, const char* function);

}  // namespace idlesim

// States an invariant of the model. Stays on in every build: a wrong result that looks right costs
// more than the test. The message is built only on failure.
#define CHECK(condition, ...)                                                             \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::idlesim::check_failed(#condition, ::std::string(__VA_ARGS__), __FILE__, __LINE__, \
                              __func__);                                                  \
  } while (false)

#endif  // IDLESIM_BASE_CHECK_H_
