#include "idlesim/report/published.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include "idlesim/base/check.h"
#include "idlesim/config/document.h"

namespace idlesim::report {

namespace {

constexpr std::array<std::string_view, 4> kRoles = {"baseline", "predict", "fit_or_predict",
                                                    "show"};

PublishedRow read_row(config::Reader in, const std::string& group) {
  PublishedRow row;
  row.id = in.string("id");
  row.group = group;
  row.side = in.string("side");
  row.machine = in.string("machine");
  row.quantity = in.string("quantity");
  row.unit = in.string("unit");
  row.low = in.decimal("low").as_double();
  row.high = in.decimal("high").as_double();
  if (row.low > row.high) in.fail("high", "is below low");
  if (in.has("tolerance_percent")) {
    row.tolerance_percent = in.decimal("tolerance_percent").as_double();
    if (*row.tolerance_percent < 0) in.fail("tolerance_percent", "must not be negative");
  }
  const std::string role = in.enumeration("role", kRoles);
  row.role = static_cast<Role>(std::find(kRoles.begin(), kRoles.end(), role) - kRoles.begin());
  row.note = in.string_or("note", "");
  row.source = in.string("source");
  if (row.id != group && !row.id.starts_with(group + "."))
    in.fail("id", "must start with the group, \"" + group + ".\"");
  return row;
}

void read_file(const std::string& path, std::set<std::string>& ids, std::vector<PublishedRow>& rows,
               config::Findings& findings) {
  try {
    config::Document document = config::parse_file(path);
    config::Reader root = document.root();
    root.integer("schema_version", 1, 1);
    const std::string group = root.string("group");
    root.string_or("title", "");
    for (config::Reader& element : root.array("rows")) {
      rows.push_back(read_row(element, group));
      if (!ids.insert(rows.back().id).second)
        element.fail("id", "the id \"" + rows.back().id + "\" is used twice");
    }
    document.finish(findings);
  } catch (const UserError& error) {
    findings.add(error);
  }
}

}  // namespace

std::string_view to_string(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::vector<PublishedRow> read_published(const std::string& path) {
  std::vector<PublishedRow> rows;
  std::set<std::string> ids;
  config::Findings findings;
  read_file(path, ids, rows, findings);
  findings.throw_if_any();
  return rows;
}

std::vector<PublishedRow> read_published_directory(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  if (error) throw UserError(directory + ": cannot be read: " + error.message());
  std::sort(paths.begin(), paths.end());

  std::vector<PublishedRow> rows;
  std::set<std::string> ids;
  config::Findings findings;
  for (const std::string& path : paths) read_file(path, ids, rows, findings);
  findings.throw_if_any();
  return rows;
}

}  // namespace idlesim::report
