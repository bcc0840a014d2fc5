// Any bytes as a scenario, machine or kernel file: the readers of the model's files either give a
// specification that can be used, or throw UserError with a place in every line. Nothing is
// simulated.
// Input: the first byte says what the rest is; for a scenario its file is written to a directory of
// this process, so that it can name the shipped machines and kernels.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "idlesim/base/check.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/hw/topology.h"

namespace {

namespace fs = std::filesystem;
using namespace idlesim;

void require(bool condition) {
  if (!condition) std::abort();
}

// One file, rewritten for every input, removed at the end of the process.
class InputFile {
 public:
  InputFile() : path_(fs::temp_directory_path() / ("scenario_fuzz." + std::to_string(::getpid()))) {
    path_ += ".json";
  }
  ~InputFile() { fs::remove(path_); }
  std::string write(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
    return path_.string();
  }

 private:
  fs::path path_;
};

void read_scenario(const experiment::ConfigPaths& paths, const std::string& path) {
  const experiment::Scenario scenario = experiment::load_scenario(paths, path, {});
  require(!scenario.variants.empty());
  require(scenario.runs >= 1);
  require(scenario.digest.size() == 7 + 64);
  for (const experiment::Variant& variant : scenario.variants) {
    require(variant.workload != nullptr);
    require(hw::Topology(variant.machine.topology).nr_cpus() >= 1);
    require(!variant.workload->explain({variant.machine, variant.kernel, variant.config}).empty());
  }
}

// Every line of the errors has the form PLACE: /pointer: message, without control characters.
void check_errors(std::string_view errors) {
  require(!errors.empty());
  while (!errors.empty()) {
    const std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    require(line.starts_with("... and ") || line.find(": /") != std::string_view::npos);
    for (const char c : line) require(static_cast<unsigned char>(c) >= 0x20);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  static const experiment::ConfigPaths paths = experiment::find_config_paths();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string path = file.write(input.substr(std::min<std::size_t>(size, 1)));
  try {
    switch (size == 0 ? 0 : input.front() % 3) {
      case 0:
        read_scenario(paths, path);
        break;
      case 1:
        require(hw::Topology(experiment::load_machine(paths, path).topology).nr_cpus() >= 1);
        break;
      default:
        experiment::load_kernel(paths, path);
        break;
    }
  } catch (const UserError& error) {
    check_errors(error.what());
  }
  return 0;
}
