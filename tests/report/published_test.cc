#include "idlesim/report/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "idlesim/base/check.h"

namespace idlesim::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line + ",");
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

TEST(Published, EveryRowIsThatOfThePublicTable) {
  std::ifstream table(IDLESIM_SHARED_DIR "/domain/published-rows.csv");
  if (!table) GTEST_SKIP() << "the public data are not beside this checkout";
  const std::vector<PublishedRow> rows =
      read_published_directory(IDLESIM_SOURCE_DIR "/sim-configs/published");
  std::string line;
  std::getline(table, line);
  ASSERT_EQ(line, "id,group,side,quantity,unit,low,high,tolerance_percent,role,note");
  std::size_t at = 0;
  for (; std::getline(table, line); ++at) {
    ASSERT_LT(at, rows.size()) << line;
    const PublishedRow& row = rows[at];
    const std::vector<std::string> fields = split(line);
    ASSERT_EQ(fields.size(), 10u) << line;
    EXPECT_EQ(row.id, fields[0]);
    EXPECT_EQ(row.group, fields[1]);
    EXPECT_EQ(row.side, fields[2]);
    EXPECT_EQ(row.quantity, fields[3]);
    EXPECT_EQ(row.unit, fields[4]);
    EXPECT_EQ(row.low, std::stod(fields[5])) << row.id;
    EXPECT_EQ(row.high, std::stod(fields[6])) << row.id;
    EXPECT_EQ(row.tolerance_percent.has_value(), !fields[7].empty()) << row.id;
    if (row.tolerance_percent) {
      EXPECT_EQ(*row.tolerance_percent, std::stod(fields[7])) << row.id;
    }
    EXPECT_EQ(to_string(row.role), fields[8]) << row.id;
    EXPECT_EQ(row.note, fields[9]) << row.id;
    EXPECT_FALSE(row.machine.empty()) << row.id;
    EXPECT_FALSE(row.source.empty()) << row.id;
  }
  EXPECT_EQ(at, rows.size());
  EXPECT_GE(at, 50u);
}

class PublishedFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string error_of(const std::string& path) {
    try {
      if (std::filesystem::is_directory(path))
        read_published_directory(path);
      else
        read_published(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  static std::string row(const std::string& id, const std::string& more = "") {
    return R"({"id": ")" + id +
           R"(", "side": "s", "machine": "m", "quantity": "q", "unit": "us", "low": 1.5, "high": 2,
              "role": "show", "source": "x")" +
           more + "}";
  }
  static std::string file(const std::string& group, const std::string& rows) {
    return R"({"schema_version": 1, "group": ")" + group + R"(", "rows": [)" + rows + "]}";
  }

  std::filesystem::path directory_;
};

TEST_F(PublishedFile, ReadsARow) {
  const std::vector<PublishedRow> rows =
      read_published(write("p9.json", file("P9", row("P9.1", R"(, "tolerance_percent": 2.5)"))));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].group, "P9");
  EXPECT_EQ(rows[0].low, 1.5);
  EXPECT_EQ(rows[0].high, 2);
  EXPECT_EQ(rows[0].tolerance_percent, 2.5);
  EXPECT_EQ(rows[0].role, Role::kShow);
  EXPECT_EQ(rows[0].note, "");
}

TEST_F(PublishedFile, AllErrorsComeAtOnce) {
  const std::string error = error_of(
      write("p9.json", file("P9", row("P8.1") + ",\n" + row("P9.2", R"(, "tolerance": 3)") + ",\n" +
                                      row("P9.2", R"(, "tolerance_percent": -1)"))));
  EXPECT_THAT(error, AllOf(HasSubstr("/rows/0/id: must start with the group, \"P9.\""),
                           HasSubstr("/rows/1/tolerance"), HasSubstr("/rows/2/id: the id \"P9.2\""),
                           HasSubstr("/rows/2/tolerance_percent: must not be negative")));
}

TEST_F(PublishedFile, DirectoriesAreReadInOrderOfNames) {
  write("p2.json", file("P2", row("P2.1")));
  write("p1.json", file("P1", row("P1.2") + "," + row("P1.1")));
  write("readme.txt", "no JSON");
  const std::vector<PublishedRow> rows = read_published_directory(directory_.string());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].id, "P1.2");
  EXPECT_EQ(rows[1].id, "P1.1");
  EXPECT_EQ(rows[2].id, "P2.1");
}

TEST_F(PublishedFile, ErrorsOfAllFilesOfADirectory) {
  write("p1.json", "{");
  write("p2.json", file("P2", row("P2.1", R"(, "low": 1)")));
  write("p3.json", file("P2", row("P2.1")));
  EXPECT_THAT(error_of(directory_.string()),
              AllOf(HasSubstr("p1.json"), HasSubstr("p2.json"), HasSubstr("p3.json")));
}

TEST_F(PublishedFile, MissingFilesAreUserErrors) {
  EXPECT_THROW(read_published((directory_ / "none.json").string()), UserError);
  EXPECT_THROW(read_published_directory((directory_ / "none").string()), UserError);
}

}  // namespace
}  // namespace idlesim::report
