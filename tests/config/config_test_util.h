// Helpers of the config tests.
#ifndef IDLESIM_TESTS_CONFIG_UTIL_H_
#define IDLESIM_TESTS_CONFIG_UTIL_H_

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "idlesim/config/document.h"

namespace idlesim::config {

// The text of the UserError that `action` throws, "" if it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

// The errors of reading `text` (named "f.json") with `read`.
inline std::string errors(std::string_view text, const std::function<void(Reader)>& read) {
  return error_of([&] {
    Document doc = parse_text(text, "f.json");
    read(doc.root());
    doc.finish();
  });
}

// A directory for the files of one test, removed at its end. Its files are named relative to it in
// the tests, so errors are compared after removing `prefix()`.
class TestFiles {
 public:
  explicit TestFiles(const std::string& name)
      : path_(std::filesystem::path(IDLESIM_BINARY_DIR) / ("config_test_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFiles() { std::filesystem::remove_all(path_); }
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string directory() const { return path_.string(); }
  std::string without_directory(std::string text) const {
    const std::string prefix = path_.string() + "/";
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;)
      text.erase(at, prefix.size());
    return text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace idlesim::config

#endif  // IDLESIM_TESTS_CONFIG_UTIL_H_
