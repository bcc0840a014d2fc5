// Where the public data files are, and every file of a folder: a test that reads "every file" must
// fail when a file is added that it does not know.
#ifndef IDLESIM_TESTS_DATA_PUBLIC_DATA_H_
#define IDLESIM_TESTS_DATA_PUBLIC_DATA_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace idlesim::data_test {

inline std::string data_path(const std::string& file) {
  return std::string(IDLESIM_SHARED_DIR) + "/data/" + file;
}

// The data lies beside the checkout; a user's machine does not have it.
class PublicData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_path("INDEX.md")))
      GTEST_SKIP() << data_path("") << " is not there";
  }
};

// Names of the files of a data folder with this ending, sorted.
inline std::vector<std::string> files_of(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_path(folder)))
    if (entry.path().string().ends_with(ending)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// A file with this content in the test's own temporary folder.
inline std::string temporary_file(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "/" + std::to_string(::getpid()) + "-" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace idlesim::data_test

#endif  // IDLESIM_TESTS_DATA_PUBLIC_DATA_H_
