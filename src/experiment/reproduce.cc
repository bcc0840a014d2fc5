#include "idlesim/experiment/reproduce.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "idlesim/config/document.h"
#include "idlesim/report/published.h"

namespace idlesim::experiment {

namespace {

struct Group {
  const char* name;
  GroupResult (*run)(const ConfigPaths& paths, const ReproduceOptions& options);
};

constexpr Group kGroups[] = {
    {"P1", reproduce_p1},
    {"P2", reproduce_p2},
    {"P3", reproduce_p3},
};

bool wanted(const ReproduceOptions& options, const std::string& group) {
  return options.groups.empty() ||
         std::find(options.groups.begin(), options.groups.end(), group) != options.groups.end();
}

void add_rows(const std::vector<report::PublishedRow>& rows, const std::string& group,
              const GroupResult& result, report::ReproduceReport& report) {
  for (const report::PublishedRow& row : rows) {
    if (row.group != group) continue;
    std::optional<report::Simulated> simulated;
    for (const auto& [id, value] : result.simulated)
      if (id == row.id) simulated = value;
    const bool fitted =
        std::any_of(result.fitted.begin(), result.fitted.end(),
                    [&row](const auto& parameter) { return parameter.fitted_to == row.id; });
    report::ReproduceResult judged = report::judge(row, simulated, fitted);
    for (const auto& [id, pass] : result.pass)
      if (id == row.id) judged.pass = pass;
    report.results.push_back(std::move(judged));
  }
  report.fitted_parameters.insert(report.fitted_parameters.end(), result.fitted.begin(),
                                  result.fitted.end());
  for (const std::string& note : result.notes) report.notes.push_back({group, note});
}

}  // namespace

void parallel(const ReproduceOptions& options, int count, const std::function<void(int)>& task) {
  std::atomic<int> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr error;
  int failed_at = count;
  int done = 0;
  const auto stop = [&] {
    return failed || (options.interrupted != nullptr && options.interrupted->load());
  };
  const auto work = [&] {
    while (!stop()) {
      const int index = next++;
      if (index >= count) return;
      try {
        task(index);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (index < failed_at) {
          failed_at = index;
          error = std::current_exception();
        }
        failed = true;
        return;
      }
      const std::lock_guard lock(mutex);
      if (options.progress) options.progress(++done, count);
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 1; i < std::min(options.jobs, count); ++i) workers.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
  if (stop()) throw Interrupted();
}

report::ReproduceReport reproduce(const ConfigPaths& paths, const ReproduceOptions& options) {
  const auto rows =
      report::read_published_directory((std::filesystem::path(paths.root) / "published").string());
  std::vector<std::string> names;
  for (const report::PublishedRow& row : rows)
    if (std::find(names.begin(), names.end(), row.group) == names.end()) names.push_back(row.group);
  for (const std::string& group : options.groups)
    if (std::find(names.begin(), names.end(), group) == names.end())
      throw UserError("there is no published result \"" + group + "\"");

  report::ReproduceReport report;
  for (const std::string& name : names) {
    if (!wanted(options, name)) continue;
    GroupResult result;
    for (const Group& group : kGroups)
      if (name == group.name) result = group.run(paths, options);
    add_rows(rows, name, result, report);
  }
  return report;
}

}  // namespace idlesim::experiment
