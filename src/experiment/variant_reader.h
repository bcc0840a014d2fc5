// Reads one side of a comparison. Private to the experiment layer.
#ifndef IDLESIM_SRC_EXPERIMENT_VARIANT_READER_H_
#define IDLESIM_SRC_EXPERIMENT_VARIANT_READER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "idlesim/config/document.h"
#include "idlesim/experiment/scenario.h"

namespace idlesim::experiment {

// "there is no file "x"; did you mean "y"?" for a file that a name or a path stands for.
std::string no_such_file(const std::string& name, const std::string& path);
// Whether there is a file (not a directory).
bool is_file(const std::string& path);
// What "extends" means: a file beside the one that extends it, or a shipped one.
config::ExtendsResolver beside_or_in(const ConfigPaths& paths,
                                     std::string (ConfigPaths::*shipped)(const std::string&) const);

// A machine or kernel file in force.
struct UsedFile {
  std::string kind;  // "machine", "kernel"
  std::string name;
  std::string digest;
  bool operator==(const UsedFile&) const = default;
};

// Files that were read without error: the variants of a scenario have most of them in common.
template <typename Spec>
struct ReadFile {
  Spec spec;
  UsedFile file;
  std::vector<config::Parameter> parameters;
};
struct FileCache {
  std::map<std::string, ReadFile<hw::MachineSpec>> machines;    // by path
  std::map<std::string, ReadFile<kernel::KernelSpec>> kernels;  // by path and settings
};

// Adds what is wrong in the machine and kernel file to `findings`, and what is wrong in the
// scenario to the scenario's document.
class VariantReader {
 public:
  VariantReader(const ConfigPaths& paths, FileCache& cache, config::Findings& findings,
                Variant& variant)
      : paths_(paths), cache_(cache), findings_(findings), variant_(variant) {}

  void read(config::Reader& root, const std::vector<Override>& machine_overrides);

  const std::vector<UsedFile>& files() const { return files_; }
  // The platform file in force, with the scenario's settings; nothing on bare metal.
  std::optional<config::Document>& platform() { return platform_; }

 private:
  std::optional<config::Document> open(config::Reader& in, std::string_view key,
                                       const std::string& name, const std::string& path,
                                       const config::ExtendsResolver& resolver);
  // Adds the document's errors; nothing if there are any.
  template <typename Spec>
  std::optional<ReadFile<Spec>> finish(config::Document& doc, Spec spec, const char* kind);
  template <typename Spec>
  void use(const ReadFile<Spec>& read);
  bool read_machine(config::Reader& root, const std::vector<Override>& overrides);
  const ReadFile<kernel::KernelSpec>* open_kernel(config::Reader& in, const std::string& name,
                                                  const std::vector<Override>& settings);
  void read_kernel(config::Reader& root, bool has_machine);
  void read_platform(config::Reader& root, bool has_machine);
  void read_platform_file(config::Reader& in, const std::string& name,
                          const std::vector<Override>& settings);
  void read_workload(config::Reader& root, bool has_machine);
  void check_idle_states(config::Reader& in);
  void check_offline_cpus(config::Reader& in);

  const ConfigPaths& paths_;
  FileCache& cache_;
  config::Findings& findings_;
  Variant& variant_;
  std::vector<UsedFile> files_;
  std::optional<config::Document> platform_;
};

}  // namespace idlesim::experiment

#endif  // IDLESIM_SRC_EXPERIMENT_VARIANT_READER_H_
