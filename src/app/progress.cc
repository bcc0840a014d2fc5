#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace idlesim::app {

namespace {

using namespace std::chrono_literals;

bool wants_bar(const Surroundings& around) {
  if (!around.err_is_terminal) return false;
  const char* ci = around.environment("CI");
  const char* term = around.environment("TERM");
  return (ci == nullptr || *ci == '\0') && (term == nullptr || std::string_view(term) != "dumb");
}

// Asked for at every update, so that a resized terminal needs no signal.
int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_bar(int done, int all, double elapsed_s, int width) {
  std::string text = fmt::format(" {}/{} runs", done, all);
  if (done > 0 && elapsed_s > 0) {
    const double rate = done / elapsed_s;
    text += fmt::format(", {:.1f} runs/s, {:.0f} s left", rate, (all - done) / rate);
  }
  const int room = width - static_cast<int>(text.size()) - 3;  // brackets, and the last column
  if (room >= 5) {
    const int cells = std::min(room, 40);
    const int full = all > 0 ? static_cast<int>(static_cast<std::int64_t>(cells) * done / all) : 0;
    text = '[' + std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(cells - full), '.') + ']' + text;
  }
  return text.substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
}

Progress::Progress(const Surroundings& around, bool quiet)
    : around_(around), bar_(wants_bar(around)) {
  if (!quiet) thread_ = std::thread([this] { loop(); });
}

Progress::~Progress() { finish(); }

void Progress::update(int done, int all) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  all_ = all;
}

void Progress::finish() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (shown_ && bar_) around_.err << "\r\033[K" << std::flush;
  shown_ = false;
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::loop() {
  std::unique_lock lock(mutex_);
  const auto stopped = [this] { return stop_; };
  auto wait = bar_ ? 500ms : 30'000ms;
  while (!wake_.wait_for(lock, wait, stopped)) {
    show();
    if (bar_) wait = 100ms;
  }
}

void Progress::show() {
  if (bar_)
    around_.err << '\r' << progress_bar(done_, all_, elapsed_s(), terminal_width()) << "\033[K"
                << std::flush;
  else
    around_.err << fmt::format("{} of {} runs done after {:.0f} s\n", done_, all_, elapsed_s())
                << std::flush;
  shown_ = true;
}

}  // namespace idlesim::app
