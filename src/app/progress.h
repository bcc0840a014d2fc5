// Shows on standard error how far a command has come.
#ifndef IDLESIM_SRC_APP_PROGRESS_H_
#define IDLESIM_SRC_APP_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "idlesim/app/program.h"

namespace idlesim::app {

// "[#####.....] 20/40 runs, 12.5 runs/s, 2 s left", at most `width` columns.
std::string progress_bar(int done, int all, double elapsed_s, int width);

// On a terminal a bar, from 0.5 s on, ten times a second; elsewhere, and where the environment says
// CI or a dumb terminal, a line every 30 s; nothing if quiet. The bar is gone after finish().
class Progress {
 public:
  Progress(const Surroundings& around, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread.
  void update(int done, int all);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void loop();
  void show();
  double elapsed_s() const;

  const Surroundings& around_;
  const bool bar_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  int done_ = 0;
  int all_ = 0;
  bool stop_ = false;
  bool shown_ = false;
  std::thread thread_;  // not running if there is nothing to show
};

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_PROGRESS_H_
