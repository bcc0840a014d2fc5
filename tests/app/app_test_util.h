// Calls the program as a function, with its own streams and environment.
#ifndef IDLESIM_TESTS_APP_APP_TEST_UTIL_H_
#define IDLESIM_TESTS_APP_APP_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "idlesim/app/program.h"

namespace idlesim::app {

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

struct Circumstances {
  std::map<std::string, std::string> environment;
  bool out_is_terminal = false;
};

inline Result call(const std::vector<std::string>& arguments,
                   const Circumstances& circumstances = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const Surroundings surroundings{
      out,
      err,
      circumstances.out_is_terminal,
      false,
      [&circumstances](const char* name) -> const char* {
        const auto found = circumstances.environment.find(name);
        return found == circumstances.environment.end() ? nullptr : found->second.c_str();
      },
      nullptr};
  Result result;
  result.code = run_program(arguments, surroundings);
  result.out = out.str();
  result.err = err.str();
  return result;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// A directory of its own for each test.
class AppTest : public testing::Test {
 protected:
  AppTest() {
    std::string name = (std::filesystem::temp_directory_path() / "idlesim-app-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~AppTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  // Messages without the directory's name.
  std::string without_directory(const std::string& text) const {
    return replaced(text, directory_.string() + "/", "");
  }

  std::filesystem::path directory_;
};

// A correct scenario; one value a line, so that errors have a line of their own.
inline const char* const kSmall = R"({
  "schema_version": 1,
  "name": "small",
  "machine": "epyc-milan-2s-64c",
  "kernel": {
    "base": "linux-6.10-x86_64",
    "idle_enter": "mwait_ecx1"
  },
  "workload": {
    "name": "ipistorm",
    "parameters": {
      "numipi": 50,
      "single": 1,
      "offset": 8,
      "cpulist": [8]
    }
  },
  "variants": [
    { "name": "a" },
    { "name": "b", "set": { "kernel.schedule_idle": "sm_idle" } }
  ],
  "runs": 2
}
)";

}  // namespace idlesim::app

#endif  // IDLESIM_TESTS_APP_APP_TEST_UTIL_H_
