// The command-line program as a function, so that tests can call it.
#ifndef IDLESIM_APP_PROGRAM_H_
#define IDLESIM_APP_PROGRAM_H_

#include <atomic>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace idlesim::app {

// Exit codes (130 and 143: after SIGINT and SIGTERM).
inline constexpr int kSuccess = 0;
inline constexpr int kRegression = 1;    // a comparison found something worse
inline constexpr int kUsage = 2;         // wrong arguments or files; nothing was simulated
inline constexpr int kSimulation = 3;    // an invariant broke, or a run cannot progress
inline constexpr int kInconclusive = 4;  // a comparison cannot tell

// The same for `git bisect run` (--bisect): 125 skips a commit, 255 ends the search.
inline constexpr int kBisectSkip = 125;
inline constexpr int kBisectAbort = 255;

// Set by a signal handler, looked at by the simulation.
struct Interrupt {
  std::atomic<bool> requested = false;
  std::atomic<int> signal = 0;
};

// What surrounds the program. Data goes to `out` only, everything else to `err`.
struct Surroundings {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::function<const char*(const char* name)> environment;  // null for what is not set
  const Interrupt* interrupt = nullptr;
};

// Runs the command that `arguments` (without the program's name) ask for. Returns the exit code;
// what a user can cause is reported, not thrown.
int run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings);

}  // namespace idlesim::app

#endif  // IDLESIM_APP_PROGRAM_H_
