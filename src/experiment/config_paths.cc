// Where the shipped files are.
#include <cstdlib>
#include <filesystem>

#include "idlesim/experiment/scenario.h"

namespace idlesim::experiment {

namespace fs = std::filesystem;

namespace {

std::string file_of(const std::string& root, const char* kind, const std::string& name) {
  if (name.ends_with(".json") || name.find('/') != std::string::npos) return name;
  return (fs::path(root) / kind / (name + ".json")).string();
}

}  // namespace

std::string ConfigPaths::machine(const std::string& name) const {
  return file_of(root, "machines", name);
}
std::string ConfigPaths::kernel(const std::string& name) const {
  return file_of(root, "kernels", name);
}
std::string ConfigPaths::platform(const std::string& name) const {
  return file_of(root, "platforms", name);
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

}  // namespace idlesim::experiment
