#include "idlesim/experiment/scenario.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include "idlesim/config/digest.h"
#include "idlesim/config/document.h"
#include "idlesim/config/nearest.h"
#include "idlesim/experiment/workloads.h"

namespace idlesim::experiment {

namespace fs = std::filesystem;

// --- files
// ----------------------------------------------------------------------------------------

namespace {

std::string file_of(const std::string& root, const char* kind, const std::string& name) {
  if (name.size() > 5 && name.ends_with(".json")) return name;
  return (fs::path(root) / kind / (name + ".json")).string();
}

}  // namespace

std::string ConfigPaths::machine(const std::string& name) const {
  return file_of(root, "machines", name);
}
std::string ConfigPaths::kernel(const std::string& name) const {
  return file_of(root, "kernels", name);
}
std::string ConfigPaths::scenario(const std::string& name) const {
  return file_of(root, "scenarios", name);
}

ConfigPaths find_config_paths() {
  if (const char* set = std::getenv("IDLESIM_CONFIGS"); set != nullptr && *set != '\0')
    return {set};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& candidate :
       {program.parent_path() / "../share/idlesim/sim-configs", fs::path(IDLESIM_CONFIG_DIR)})
    if (!error && fs::is_directory(candidate)) return {fs::weakly_canonical(candidate).string()};
  return {IDLESIM_CONFIG_DIR};
}

// --- reading
// --------------------------------------------------------------------------------------

namespace {

// Overrides by the file they go to: "machine.x" and "kernel_file.x" leave the scenario.
struct Routed {
  std::vector<Override> scenario;
  std::vector<Override> machine;
};

Routed route(const std::vector<Override>& overrides) {
  Routed routed;
  for (const Override& o : overrides) {
    if (o.path.starts_with("machine."))
      routed.machine.push_back({o.path.substr(8), o.value});
    else
      routed.scenario.push_back(o);
  }
  return routed;
}

kernel::Background read_background(config::Reader in) {
  kernel::Background background;
  background.pairs_per_second = in.parameter_integer("pairs_per_second", 0, 1'000'000);
  background.mean_duration = in.parameter_time("mean_duration_us");
  return background;
}

// The scenario's part of the kernel: feature values and settings that are not in the kernel file.
void read_kernel_settings(config::Reader in, kernel::KernelConfig& config) {
  kernel::read_features(in, config.features);
  config.idle_state = static_cast<int>(in.integer_or("idle_state", 0, 15, 1));
  if (in.has("disabled_idle_states")) config.disabled_states = in.strings("disabled_idle_states");
  if (auto background = in.optional_object("background"))
    config.background = read_background(*background);
}

// Settings of the scenario that replace those of the kernel file.
std::vector<Override> kernel_file_overrides(config::Reader in) {
  std::vector<Override> overrides;
  for (const char* key : {"mitigations", "preempt", "apic"})
    if (in.has(key)) overrides.push_back({std::string("config.") + key, in.string(key)});
  if (in.has("cgroup_depth"))
    overrides.push_back({"config.cgroup_depth", std::to_string(in.integer("cgroup_depth", 0, 16))});
  return overrides;
}

void check_idle_states(config::Reader in, const Variant& variant) {
  config::Reader reader = in;
  std::vector<std::string> names;
  for (const hw::IdleStateSpec& state : variant.machine.idle_states) names.push_back(state.name);
  for (const std::string& disabled : variant.config.disabled_states)
    if (std::find(names.begin(), names.end(), disabled) == names.end()) {
      std::vector<std::string_view> candidates(names.begin(), names.end());
      reader.fail("disabled_idle_states", "the machine has no idle state \"" + disabled + "\"" +
                                              config::did_you_mean(disabled, candidates));
    }
}

struct Context {
  const ConfigPaths& paths;
  config::Findings& findings;
};

void append(std::vector<config::Parameter>& to, const config::Document& from) {
  to.insert(to.end(), from.parameters().begin(), from.parameters().end());
}

// Opens a file another file names. A missing one is an error where it is named.
std::optional<config::Document> open_named(const Context& context, config::Reader& in,
                                           std::string_view key, const std::string& path) {
  if (!fs::exists(path)) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path(), error))
      names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string name = fs::path(path).stem().string();
    in.fail(key, "there is no file \"" + name + "\"" + config::did_you_mean(name, candidates));
    return std::nullopt;
  }
  try {
    return config::load_with_extends(path);
  } catch (const UserError& error) {
    context.findings.add(error);
    return std::nullopt;
  }
}

void read_machine(const Context& context, config::Reader& root,
                  const std::vector<Override>& overrides, Variant& variant) {
  const std::string name = root.string("machine");
  variant.machine_file = name;
  auto doc = open_named(context, root, "machine", context.paths.machine(name));
  if (!doc) return;
  for (const Override& o : overrides)
    doc->override_value(o.path, o.value,
                        o.path == "topology.scale" ? config::Document::Missing::kCreate
                                                   : config::Document::Missing::kError);
  variant.machine = hw::read_machine_spec(doc->root());
  if (variant.machine.topology.sockets > 0 && !overrides.empty()) variant.machine.name += "*";
  doc->finish(context.findings);
  append(variant.parameters, *doc);
}

void read_kernel(const Context& context, config::Reader& root, Variant& variant) {
  config::Reader in = root.object("kernel");
  const std::string name = in.string("base");
  auto doc = open_named(context, in, "base", context.paths.kernel(name));
  if (!doc) return;
  for (const Override& o : kernel_file_overrides(in)) doc->override_value(o.path, o.value);
  variant.kernel = kernel::read_kernel_spec(doc->root());
  doc->finish(context.findings);
  append(variant.parameters, *doc);
  variant.config.features = variant.kernel.features;
  read_kernel_settings(in, variant.config);
  check_idle_states(in, variant);
  if (variant.kernel.arch != variant.machine.cpu.arch)
    in.fail("base", "the kernel is for another architecture than the machine");
  const std::string why = kernel::why_impossible(variant.config.features, variant.machine.cpu.arch);
  if (!why.empty()) in.fail(why);
}

void read_workload(config::Reader& root, Variant& variant) {
  config::Reader in = root.object("workload");
  const WorkloadEntry& entry = read_workload_name(in);
  variant.workload_name = entry.name;
  config::Reader parameters = in.object("parameters");
  variant.workload = entry.read(parameters);
  variant.workload->check_machine(parameters, hw::Topology(variant.machine.topology));
}

struct VariantText {
  std::string name;
  std::vector<Override> set;
};

// `variants` as written: names and the settings each changes.
std::vector<VariantText> read_variant_list(config::Reader root) {
  std::vector<VariantText> variants;
  std::set<std::string> names;
  for (config::Reader& in : root.optional_array("variants")) {
    VariantText text;
    text.name = in.string("name");
    if (!names.insert(text.name).second) in.fail("name", "two variants have this name");
    if (in.has("description")) in.string("description");
    if (auto set = in.optional_object("set")) {
      for (auto& [path, value] : set->members()) {
        if (path.starts_with("machine") || path.starts_with("workload"))
          value.fail(
              "the variants of a scenario run on one machine and do the same work; only "
              "kernel and platform settings may differ");
        text.set.push_back({path, value.as_text()});
      }
    }
    variants.push_back(std::move(text));
  }
  if (variants.empty()) variants.push_back({"default", {}});
  return variants;
}

void read_head(config::Reader root, Scenario& scenario) {
  root.integer("schema_version", 1, 1);
  scenario.name = root.string("name");
  scenario.description = root.string_or("description", "");
  scenario.runs = static_cast<int>(root.integer_or("runs", 1, 100'000, 10));
  scenario.seed = static_cast<std::uint64_t>(root.integer_or("seed", 0, config::Reader::kMax, 1));
}

std::vector<report::Change> changes_against_first(const Variant& first, const Variant& variant,
                                                  const std::vector<Override>& set) {
  std::vector<report::Change> changes;
  for (const Override& o : set) {
    report::Change change{o.path, "", o.value};
    if (o.path.starts_with("kernel.") && kernel::find_axis(o.path.substr(7)) >= 0) {
      change.from = first.config.features.get(o.path.substr(7));
      change.to = variant.config.features.get(o.path.substr(7));
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

Scenario load_scenario(const ConfigPaths& paths, const std::string& name_or_path,
                       const std::vector<Override>& overrides) {
  Scenario scenario;
  config::Findings findings;
  const Context context{paths, findings};
  const std::string path = paths.scenario(name_or_path);
  const Routed routed = route(overrides);

  std::vector<VariantText> texts;
  {
    config::Document doc = config::load_with_extends(path);
    texts = read_variant_list(doc.root());
  }
  for (const VariantText& text : texts) {
    config::Document doc = config::load_with_extends(path);
    const auto set = [&doc](const Override& o, const std::string& shown_as) {
      doc.override_value(o.path, o.value, config::Document::Missing::kCreate, shown_as);
    };
    for (const Override& o : text.set) set(o, path + ": variant \"" + text.name + "\"");
    for (const Override& o : routed.scenario) set(o, "--set");
    config::Reader root = doc.root();
    read_head(root, scenario);
    read_variant_list(root);
    Variant variant;
    variant.name = text.name;
    variant.platform = root.string_or("platform", "bare-metal");
    if (variant.platform != "bare-metal")
      root.fail("platform", "the only platform is \"bare-metal\"");
    read_machine(context, root, routed.machine, variant);
    read_kernel(context, root, variant);
    read_workload(root, variant);
    doc.finish(findings);
    if (!findings.empty()) break;  // the other variants would repeat it
    const Variant& first = scenario.variants.empty() ? variant : scenario.variants.front();
    variant.changes = changes_against_first(first, variant, text.set);
    append(variant.parameters, doc);
    if (scenario.variants.empty()) scenario.resolved_json = doc.resolved_json();
    scenario.variants.push_back(std::move(variant));
  }
  findings.throw_if_any();
  scenario.digest = "sha256:" + config::sha256_hex(scenario.resolved_json);
  return scenario;
}

}  // namespace idlesim::experiment
