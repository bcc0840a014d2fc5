#include "output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"

namespace idlesim::app {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const char* option, const std::string& path,
                               const std::string& why) {
  throw UserError("--" + std::string(option) + ": cannot write " + config::printable(path, 400) +
                  ": " + why);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Devices and pipes cannot be replaced by a rename.
bool is_special(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

// Through a symbolic link, the file it points to is replaced.
fs::path destination(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : canonical;
}

void write_special(const char* option, const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) cannot_write(option, path, std::strerror(errno));
  const bool written = write_all(fd, text);
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (!written) cannot_write(option, path, why);
}

void write_atomically(const char* option, const std::string& path, std::string_view text) {
  const fs::path target = destination(path);
  std::string temporary = target.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) cannot_write(option, path, std::strerror(errno));
  // mkstemp makes private files; a report has the permissions of any new file, or the old file's.
  struct stat old {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 07777u : 0666u & ~mask;
  const bool done = write_all(fd, text) && ::fchmod(fd, mode) == 0 && ::fsync(fd) == 0 &&
                    ::rename(temporary.c_str(), target.c_str()) == 0;
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (done) return;
  ::unlink(temporary.c_str());
  cannot_write(option, path, why);
}

bool is_set(const Surroundings& around, const char* name) {
  const char* value = around.environment(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

Output::Output(const Invocation& invocation, const char* option)
    : around_(invocation.around), option_(option), path_(invocation.text(option)) {
  if (path_ == "-") path_.clear();
  if (!invocation.has(option) || invocation.text(option) == "-") return;
  if (path_.empty()) cannot_write(option, "\"\"", "the name is empty");
  std::error_code error;
  if (fs::is_directory(path_, error)) cannot_write(option, path_, "it is a directory");
  if (is_special(path_)) return;
  fs::path directory = destination(path_).parent_path();
  if (directory.empty()) directory = ".";
  if (!fs::is_directory(directory, error))
    cannot_write(option, path_, "there is no directory " + directory.string());
  if (::access(directory.c_str(), W_OK) != 0) cannot_write(option, path_, std::strerror(errno));
}

bool Output::is_terminal() const { return path_.empty() && around_.out_is_terminal; }

void Output::write(std::string_view text) const {
  if (path_.empty())
    around_.out << text;
  else if (is_special(path_))
    write_special(option_, path_, text);
  else
    write_atomically(option_, path_, text);
}

bool use_color(const Invocation& invocation, bool to_terminal) {
  const std::string chosen = invocation.word("color", kColorWords);
  if (chosen != "auto") return chosen == "always";
  const Surroundings& around = invocation.around;
  if (is_set(around, "NO_COLOR")) return false;
  if (is_set(around, "FORCE_COLOR") || is_set(around, "CLICOLOR_FORCE")) return true;
  const char* term = around.environment("TERM");
  return to_terminal && (term == nullptr || std::string_view(term) != "dumb");
}

void add_color_option(boost::program_options::options_description& options) {
  options.add_options()(
      "color", boost::program_options::value<std::string>()->value_name("auto|always|never"),
      "colour the text; auto: NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then whether it goes "
      "to a terminal");
}

}  // namespace idlesim::app
