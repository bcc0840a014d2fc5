#include <algorithm>
#include <filesystem>
#include <ostream>

#include "command.h"
#include "idlesim/base/check.h"
#include "idlesim/config/document.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/json_writer.h"
#include "idlesim/config/nearest.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/experiment/workloads.h"
#include "idlesim/kernel/features.h"
#include "scenario_options.h"

namespace idlesim::app {

namespace {

namespace fs = std::filesystem;

struct Item {
  std::string name;
  std::string description;
};

// Name and description of every file of a directory, by name. A file that cannot be read is listed
// with what is wrong.
std::vector<Item> files_of(const std::string& kind) {
  const fs::path directory = fs::path(experiment::find_config_paths().root) / kind;
  std::vector<Item> items;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".json") continue;
    Item item{entry.path().stem().string(), ""};
    try {
      item.description =
          config::load_with_extends(entry.path().string()).root().string_or("description", "");
    } catch (const UserError&) {
      item.description = "cannot be read; see: idlesim validate " + entry.path().string();
    }
    items.push_back(std::move(item));
  }
  if (error)
    throw UserError("cannot read the directory " + config::printable(directory.string(), 400) +
                    ": " + error.message());
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.name < b.name; });
  return items;
}

std::vector<Item> workload_items() {
  std::vector<Item> items;
  for (const experiment::WorkloadEntry& entry : experiment::workloads())
    items.push_back({entry.name, entry.description});
  return items;
}

void print_table(std::ostream& out, const std::vector<Item>& items, const char* indent) {
  std::size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size());
  for (const Item& item : items) {
    std::string name = item.name;
    name.resize(width + 2, ' ');
    out << indent << name << item.description << '\n';
  }
}

void print_json(std::ostream& out, const std::string& kind, const std::vector<Item>& items) {
  config::JsonWriter json;
  json.begin_object().member("schema_version", 1).key(kind).begin_array();
  for (const Item& item : items)
    json.begin_object()
        .member("name", item.name)
        .member("description", item.description)
        .end_object();
  json.end_array().end_object();
  out << json.take();
}

std::vector<Item> values_of(const kernel::FeatureAxis& axis) {
  std::vector<Item> items;
  for (const kernel::FeatureValue& value : axis.values)
    items.push_back({std::string(value.name), std::string(value.description)});
  return items;
}

void print_features_json(std::ostream& out) {
  config::JsonWriter json;
  json.begin_object().member("schema_version", 1).key("features").begin_array();
  for (const kernel::FeatureAxis& axis : kernel::feature_axes()) {
    json.begin_object().member("name", axis.name).member("description", axis.description);
    json.key("values").begin_array();
    for (const Item& value : values_of(axis))
      json.begin_object()
          .member("name", value.name)
          .member("description", value.description)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array().end_object();
  out << json.take();
}

void print_features(std::ostream& out) {
  for (const kernel::FeatureAxis& axis : kernel::feature_axes()) {
    out << axis.name << ": " << axis.description << '\n';
    print_table(out, values_of(axis), "  ");
  }
}

constexpr std::array<std::string_view, 6> kKinds = {"machines", "kernels",   "platforms",
                                                    "features", "workloads", "scenarios"};

void add_options(boost::program_options::options_description& options) {
  add_format_option(options);
}

int run(const Invocation& invocation) {
  const std::string& kind = invocation.operands.front();
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
    throw UserError("cannot list \"" + config::printable(kind) + "\"" +
                    config::did_you_mean(kind, kKinds) +
                    " (allowed: machines, kernels, platforms, features, workloads, scenarios)");
  const bool json = invocation.word("format", kFormats) == "json";
  std::ostream& out = invocation.around.out;
  if (kind == "features") {
    json ? print_features_json(out) : print_features(out);
    return kSuccess;
  }
  const std::vector<Item> items = kind == "workloads" ? workload_items() : files_of(kind);
  if (json)
    print_json(out, kind, items);
  else
    print_table(out, items, "");
  return kSuccess;
}

constexpr OptionWords kWords[] = {{"", kKinds}, {"format", kFormats}};

}  // namespace

const Command kListCommand = {
    "list",
    "Lists what a scenario can name",
    "machines|kernels|platforms|features|workloads|scenarios",
    1,
    1,
    "  idlesim list scenarios\n  idlesim list features\n  idlesim list machines -f json\n",
    "A feature is set with --set kernel.FEATURE=VALUE.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app
