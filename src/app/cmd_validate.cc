#include <filesystem>
#include <ostream>

#include "command.h"
#include "idlesim/base/check.h"
#include "idlesim/config/document.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/report/gates.h"
#include "idlesim/report/json.h"
#include "idlesim/report/published.h"

namespace idlesim::app {

namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* name;
  const char* directory;                  // in sim-configs
  std::vector<const char*> keys;          // any of them tells the kind
  void (*read)(const std::string& path);  // throws UserError with every error
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"report", "", {"manifest"}, [](const std::string& path) { report::read_report(path); }},
      {"comparison gates",
       "gates",
       {"gates"},
       [](const std::string& path) { report::read_gates(path); }},
      {"published results",
       "published",
       {"rows"},
       [](const std::string& path) { report::read_published(path); }},
      {"scenario",
       "scenarios",
       {"workload", "variants", "kernel", "machine"},
       [](const std::string& path) {
         experiment::load_scenario(experiment::find_config_paths(), path, {});
       }},
      {"machine",
       "machines",
       {"topology", "coherence", "interrupts", "idle", "core"},
       [](const std::string& path) {
         experiment::load_machine(experiment::find_config_paths(), path);
       }},
      {"platform",
       "platforms",
       {"vcpu_affinity", "host_kernel"},
       [](const std::string& path) {
         experiment::load_platform(experiment::find_config_paths(), path);
       }},
      {"kernel",
       "kernels",
       {"segments", "features", "hz", "config"},
       [](const std::string& path) {
         experiment::load_kernel(experiment::find_config_paths(), path);
       }},
  };
  return kKinds;
}

// By what is in the file, else by the directory it is in.
const Kind& kind_of(const std::string& path) {
  config::Document doc = config::parse_file(path);
  const config::Reader root = doc.root();
  for (const Kind& kind : kinds())
    for (const char* key : kind.keys)
      if (root.has(key)) return kind;
  const std::string directory = fs::absolute(path).parent_path().filename().string();
  for (const Kind& kind : kinds())
    if (directory == kind.directory) return kind;
  throw UserError(path +
                  ":1:1: /: no key tells whether this is a machine, kernel, platform, "
                  "scenario, published results, gates or report");
}

int run(const Invocation& invocation) {
  std::string errors;
  for (const std::string& file : invocation.operands) {
    // A name without a directory would mean a shipped file.
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    try {
      const Kind& kind = kind_of(path);
      kind.read(path);
      invocation.around.out << file << ": ok, " << kind.name << '\n';
    } catch (const UserError& error) {
      errors += (errors.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!errors.empty()) throw UserError(errors);
  return kSuccess;
}

}  // namespace

const Command kValidateCommand = {
    "validate",
    "Checks machine, kernel, platform, scenario, published-results, gates and report files",
    "FILE...",
    1,
    kAnyNumber,
    "  idlesim validate mine.json\n  idlesim validate sim-configs/*/*.json\n",
    "Reads each file as a simulation would, with every file it names, and lists all errors of all\n"
    "files. Exit codes: 0 all are right; 2 an error was found.\n",
    nullptr,
    run};

}  // namespace idlesim::app
