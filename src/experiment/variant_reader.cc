#include "variant_reader.h"

#include <algorithm>
#include <filesystem>

#include "idlesim/config/nearest.h"
#include "idlesim/experiment/workloads.h"

namespace idlesim::experiment {

namespace fs = std::filesystem;
using config::Document;

// --- files ---

namespace {

// Names of the files of a directory, without ".json".
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory.empty() ? "." : directory, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string no_such_file(const std::string& name, const std::string& path) {
  const std::vector<std::string> names = names_in(fs::path(path).parent_path());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return "there is no file \"" + config::printable(path, 400) + "\"" +
         config::did_you_mean(name.ends_with(".json") ? fs::path(path).stem().string() : name,
                              candidates);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

config::ExtendsResolver beside_or_in(const ConfigPaths& paths,
                                     std::string (ConfigPaths::*shipped)(const std::string&)
                                         const) {
  return [&paths, shipped](const std::string& name, const std::string& from) {
    const std::string beside = config::sibling_file(name, from);
    return is_file(beside) ? beside : (paths.*shipped)(name);
  };
}

std::optional<Document> VariantReader::open(config::Reader& in, std::string_view key,
                                            const std::string& name, const std::string& path,
                                            const config::ExtendsResolver& resolver) {
  if (name.empty()) return std::nullopt;
  if (!is_file(path)) {
    in.fail(key, no_such_file(name, path));
    return std::nullopt;
  }
  try {
    return config::load_with_extends(path, resolver);
  } catch (const UserError& error) {
    findings_.add(error);
    return std::nullopt;
  }
}

template <typename Spec>
std::optional<ReadFile<Spec>> VariantReader::finish(Document& doc, Spec spec, const char* kind) {
  config::Findings found;
  doc.finish(found);
  if (!found.empty()) {
    findings_.add(UserError(found.text()));
    return std::nullopt;
  }
  const std::string name = fs::path(doc.path()).stem().string();
  return ReadFile<Spec>{std::move(spec), {kind, name, "sha256:" + doc.digest()}, doc.parameters()};
}

template <typename Spec>
void VariantReader::use(const ReadFile<Spec>& read) {
  files_.push_back(read.file);
  variant_.parameters.insert(variant_.parameters.end(), read.parameters.begin(),
                             read.parameters.end());
}

// --- machine, kernel, workload ---

namespace {

// "epyc-milan-2s-64c x2 (synthetic)", "... with core.kernel_ipc=1.0".
std::string machine_name(const std::string& name, std::int64_t scale,
                         const std::vector<Override>& overrides) {
  std::string shown = name;
  if (scale != 1) shown += " x" + std::to_string(scale) + " (synthetic)";
  std::string changes;
  for (const Override& o : overrides)
    if (o.path != "topology.scale" && o.path != "/topology/scale")
      changes += (changes.empty() ? " with " : ", ") + o.path + "=" + o.value;
  return shown + changes;
}

kernel::Background read_background(config::Reader in) {
  kernel::Background background;
  background.pairs_per_second = in.parameter_integer("pairs_per_second", 0, 1'000'000);
  background.mean_duration = in.parameter_time("mean_duration_us");
  return background;
}

// Of the haltpoll governor and its driver, by Linux's names.
void read_haltpoll(config::Reader& in, kernel::HaltpollParameters& haltpoll) {
  constexpr std::int64_t kMost = 4'294'967'295;  // unsigned int
  const auto number = [&in](const char* key, std::int64_t& value) {
    value = in.integer_or(key, 0, kMost, value);
  };
  number("guest_halt_poll_ns", haltpoll.guest_halt_poll_ns);
  number("guest_halt_poll_grow", haltpoll.guest_halt_poll_grow);
  number("guest_halt_poll_grow_start", haltpoll.guest_halt_poll_grow_start);
  number("guest_halt_poll_shrink", haltpoll.guest_halt_poll_shrink);
  haltpoll.guest_halt_poll_allow_shrink =
      in.boolean_or("guest_halt_poll_allow_shrink", haltpoll.guest_halt_poll_allow_shrink);
  haltpoll.force = in.boolean_or("cpuidle_haltpoll_force", haltpoll.force);
}

// The scenario's part of the kernel: feature values and settings that are not in the kernel file.
void read_kernel_settings(config::Reader& in, kernel::KernelConfig& config) {
  kernel::read_features(in, config.features);
  config.idle_state = static_cast<int>(in.integer_or("idle_state", 0, 15, 1));
  read_haltpoll(in, config.haltpoll);
  config.event_stream = in.boolean_or("event_stream", config.event_stream);
  if (in.has("disabled_idle_states")) config.disabled_states = in.strings("disabled_idle_states");
  if (in.has("offline_cpus"))
    for (const std::int64_t cpu : in.integers("offline_cpus", 0, 8191))
      config.offline_cpus.push_back(static_cast<CpuId>(cpu));
  if (auto background = in.optional_object("background"))
    config.background = read_background(*background);
}

// Settings of the scenario that replace those of the kernel file.
std::vector<Override> kernel_file_overrides(config::Reader& in) {
  std::vector<Override> overrides;
  for (const char* key : {"mitigations", "preempt", "apic"})
    if (in.has(key))
      overrides.push_back(
          {std::string("config.") + key, in.enumeration(key, kernel::config_words(key))});
  if (in.has("cgroup_depth"))
    overrides.push_back({"config.cgroup_depth", std::to_string(in.integer("cgroup_depth", 0, 16))});
  return overrides;
}

}  // namespace

bool VariantReader::read_machine(config::Reader& root, const std::vector<Override>& overrides) {
  const std::string name = root.string("machine");
  const std::string path = paths_.machine(name);
  variant_.machine_file = name;
  if (!cache_.machines.contains(path)) {
    auto doc = open(root, "machine", name, path, beside_or_in(paths_, &ConfigPaths::machine));
    if (!doc) return false;
    for (const Override& o : overrides) {
      const bool optional = o.path == "topology.scale" || o.path == "/topology/scale";
      doc->override_value(o.path, o.value,
                          optional ? Document::Missing::kCreate : Document::Missing::kError,
                          o.shown_as);
    }
    hw::MachineSpec spec = hw::read_machine_spec(doc->root());
    const std::int64_t scale = doc->root().object("topology").integer_or("scale", 1, 64, 1);
    spec.name = machine_name(spec.name, scale, overrides);
    auto read = finish(*doc, std::move(spec), "machine");
    if (!read) return false;
    cache_.machines.emplace(path, std::move(*read));
  }
  const ReadFile<hw::MachineSpec>& read = cache_.machines.at(path);
  use(read);
  variant_.machine = read.spec;
  return true;
}

// Names and number of the machine's idle states (and POLL before them, where there is polling).
void VariantReader::check_idle_states(config::Reader& in) {
  std::vector<std::string_view> names;
  for (const hw::IdleStateSpec& state : variant_.machine.idle_states) names.push_back(state.name);
  for (const std::string& disabled : variant_.config.disabled_states)
    if (std::find(names.begin(), names.end(), disabled) == names.end())
      in.fail("disabled_idle_states", "the machine has no idle state \"" +
                                          config::printable(disabled) + "\"" +
                                          config::did_you_mean(disabled, names));
  if (in.has("idle_state") && variant_.config.idle_state > static_cast<int>(names.size()))
    in.fail("idle_state", "the machine's deepest idle state is " + std::to_string(names.size()));
}

// Somebody has to stay to take the others down.
void VariantReader::check_offline_cpus(config::Reader& in) {
  const std::vector<CpuId>& offline = variant_.config.offline_cpus;
  const int nr_cpus = hw::Topology(variant_.machine.topology).nr_cpus();
  for (const CpuId cpu : offline)
    if (cpu >= nr_cpus)
      in.fail("offline_cpus", "the machine has " + std::to_string(nr_cpus) + " CPUs");
  if (static_cast<int>(offline.size()) >= nr_cpus) in.fail("offline_cpus", "one CPU stays online");
  if (!offline.empty() && variant_.machine.cpu.arch != hw::Arch::kX86_64)
    in.fail("offline_cpus", "CPU hotplug is modelled on x86_64");
}

// The kernel file with the scenario's settings; nothing if there is an error.
const ReadFile<kernel::KernelSpec>* VariantReader::open_kernel(
    config::Reader& in, const std::string& name, const std::vector<Override>& settings) {
  const std::string path = paths_.kernel(name);
  std::string key = path;
  for (const Override& o : settings) key += "\n" + o.path + "=" + o.value;
  if (!cache_.kernels.contains(key)) {
    auto doc = open(in, "base", name, path, beside_or_in(paths_, &ConfigPaths::kernel));
    if (!doc) return nullptr;
    for (const Override& o : settings)
      doc->override_value(o.path, o.value, Document::Missing::kCreate, o.shown_as);
    auto read = finish(*doc, kernel::read_kernel_spec(doc->root()), "kernel");
    if (!read) return nullptr;
    cache_.kernels.emplace(key, std::move(*read));
  }
  return &cache_.kernels.at(key);
}

void VariantReader::read_kernel(config::Reader& root, bool has_machine) {
  config::Reader in = root.object("kernel");
  const std::string name = in.string("base");
  read_kernel_settings(in, variant_.config);  // for its errors; again below, over the file's values
  const std::vector<Override> settings = kernel_file_overrides(in);
  if (has_machine) check_idle_states(in);
  if (has_machine) check_offline_cpus(in);
  const ReadFile<kernel::KernelSpec>* read = open_kernel(in, name, settings);
  if (read == nullptr) return;
  use(*read);
  variant_.kernel = read->spec;
  variant_.config.features = variant_.kernel.features;
  kernel::read_features(in, variant_.config.features);
  if (!has_machine) return;
  if (variant_.kernel.arch != variant_.machine.cpu.arch) {
    in.fail("base", "the kernel is for another architecture than the machine");
    return;
  }
  const std::string why =
      kernel::why_impossible(variant_.config.features, variant_.machine.cpu.arch);
  if (!why.empty()) in.fail(why);
  if (variant_.config.features.get("governor").starts_with("haltpoll") &&
      variant_.platform == "bare-metal" && !variant_.config.haltpoll.force)
    in.fail("without a hypervisor the haltpoll driver loads only with cpuidle_haltpoll_force");
}

// --- platform ---

namespace {

// Settings of the scenario that replace those of the platform file, by their path there.
std::vector<Override> platform_overrides(config::Reader& in) {
  std::vector<Override> overrides;
  for (auto& [key, value] : in.members()) {
    if (key == "base") continue;
    if (!in.has_object(key)) {
      overrides.push_back({key, value.as_text(), value.where()});
      continue;
    }
    for (auto& [inner, inner_value] : value.members())
      overrides.push_back({key + "." + inner, inner_value.as_text(), inner_value.where()});
  }
  return overrides;
}

}  // namespace

void VariantReader::read_platform_file(config::Reader& in, const std::string& name,
                                       const std::vector<Override>& settings) {
  const std::string path = paths_.platform(name);
  auto doc = open(in, "base", name, path, beside_or_in(paths_, &ConfigPaths::platform));
  if (!doc) return;
  for (const Override& o : settings)
    doc->override_value(o.path, o.value, Document::Missing::kError, o.shown_as);
  auto virtualization = std::make_shared<Virtualization>();
  config::Reader root = doc->root();
  virtualization->kvm = virt::read_kvm_spec(root);
  const ReadFile<kernel::KernelSpec>* host = open_kernel(root, virtualization->kvm.host_kernel, {});
  if (host != nullptr) {
    virtualization->host_kernel = host->spec;
    virtualization->host_config.features = host->spec.features;
    kernel::read_features(root.object("host_features"), virtualization->host_config.features);
    const std::string why =
        kernel::why_impossible(virtualization->host_config.features, virtualization->kvm.arch);
    if (!why.empty()) root.fail("host_features", why);
    if (host->spec.arch != virtualization->kvm.arch)
      root.fail("host_kernel", "the kernel is for another architecture than the platform");
  }
  auto read = finish(*doc, virtualization->kvm, "platform");
  if (!read || host == nullptr) return;
  use(*read);
  use(*host);
  virtualization->document = doc->resolved_json();
  for (const config::Parameter& parameter : read->parameters)
    virtualization->pointers.push_back(parameter.pointer);
  variant_.virtualization = std::move(virtualization);
  platform_ = std::move(doc);
}

// "bare-metal", or {"base": a platform file, and settings that replace those of the file}.
void VariantReader::read_platform(config::Reader& root, bool has_machine) {
  if (!root.has_object("platform")) {
    variant_.platform = root.string_or("platform", "bare-metal");
    if (variant_.platform != "bare-metal")
      root.fail("platform",
                "expected \"bare-metal\", or an object whose \"base\" is a platform file");
    return;
  }
  config::Reader in = root.object("platform");
  const std::string name = in.string("base");
  read_platform_file(in, name, platform_overrides(in));
  if (variant_.virtualization == nullptr) return;
  const virt::KvmSpec& kvm = variant_.virtualization->kvm;
  variant_.platform = kvm.name;
  if (!has_machine) return;
  if (kvm.arch != variant_.machine.cpu.arch)
    in.fail("base", "the platform is for another architecture than the machine");
  const hw::Topology topology(variant_.machine.topology);
  for (const CpuId cpu : kvm.placement)
    if (cpu >= topology.nr_cpus())
      in.fail("vcpu_affinity", "the machine has no CPU " + std::to_string(cpu));
}

void VariantReader::read_workload(config::Reader& root, bool has_machine) {
  config::Reader in = root.object("workload");
  const WorkloadEntry& entry = read_workload_name(in);
  variant_.workload_name = entry.name;
  config::Reader parameters = in.object("parameters");
  variant_.workload = entry.read(parameters);
  if (!has_machine) return;
  const bool guest = variant_.virtualization != nullptr;
  const hw::TopologySpec topology =
      guest ? virt::guest_machine_spec(variant_.machine, variant_.virtualization->kvm).topology
            : variant_.machine.topology;
  variant_.workload->check_machine(parameters, hw::Topology(topology));
}

void VariantReader::read(config::Reader& root, const std::vector<Override>& machine_overrides) {
  const bool has_machine = read_machine(root, machine_overrides);
  read_kernel(root, has_machine);
  read_platform(root, has_machine);
  read_workload(root, has_machine);
}

// --- files on their own ---

namespace {

Document open_file(const ConfigPaths& paths, const std::string& name,
                   std::string (ConfigPaths::*shipped)(const std::string&) const) {
  const std::string path = (paths.*shipped)(name);
  if (!is_file(path)) throw UserError(no_such_file(name, path));
  return config::load_with_extends(path, beside_or_in(paths, shipped));
}

}  // namespace

hw::MachineSpec load_machine(const ConfigPaths& paths, const std::string& name_or_path) {
  Document doc = open_file(paths, name_or_path, &ConfigPaths::machine);
  hw::MachineSpec spec = hw::read_machine_spec(doc.root());
  doc.finish();
  return spec;
}

virt::KvmSpec load_platform(const ConfigPaths& paths, const std::string& name_or_path) {
  Document doc = open_file(paths, name_or_path, &ConfigPaths::platform);
  virt::KvmSpec spec = virt::read_kvm_spec(doc.root());
  doc.finish();
  return spec;
}

kernel::KernelSpec load_kernel(const ConfigPaths& paths, const std::string& name_or_path) {
  Document doc = open_file(paths, name_or_path, &ConfigPaths::kernel);
  kernel::KernelSpec spec = kernel::read_kernel_spec(doc.root());
  doc.finish();
  return spec;
}

}  // namespace idlesim::experiment
