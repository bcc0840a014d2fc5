// The program itself, started and interrupted.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "app/app_test_util.h"
#include "idlesim/report/json.h"

namespace idlesim::app {
namespace {

const char* const kProgram = IDLESIM_BINARY_DIR "/idlesim";

class Signals : public AppTest {
 protected:
  // Starts a campaign that would take minutes.
  pid_t start() {
    const std::string out = path("out.json");
    const std::string err = path("err.txt");
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    ::execl(kProgram, "idlesim", "run", "ipistorm-epyc-milan", "-n", "10000", "--set",
            "workload.parameters.numipi=2000", "-f", "json", static_cast<char*>(nullptr));
    ::_exit(99);
  }

  int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  // The handlers a process has are seen from outside, in SigCgt of /proc.
  static void wait_until_it_catches(pid_t child, int signal) {
    const std::string status = "/proc/" + std::to_string(child) + "/status";
    for (;;) {
      const std::string text = read_text(status);
      const std::size_t at = text.find("SigCgt:");
      ASSERT_NE(at, std::string::npos) << "the program has ended";
      const auto caught = std::stoull(text.substr(at + 8, 16), nullptr, 16);
      if ((caught >> (signal - 1) & 1) != 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void expect_incomplete_report(int signal) {
    const pid_t child = start();
    wait_until_it_catches(child, signal);
    ::kill(child, signal);
    const int status = wait_for(child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    const report::Report report = report::read_report(path("out.json"));
    EXPECT_TRUE(report.incomplete);
    EXPECT_EQ(report.manifest.runs, 10000);
    ASSERT_EQ(report.variants.size(), 4u);
    EXPECT_LT(report.variants.back().runs, 10000);
    EXPECT_EQ(read_text(path("err.txt")), "interrupted: the report has the finished runs only\n");
  }
};

TEST_F(Signals, InterruptGivesTheFinishedRuns) { expect_incomplete_report(SIGINT); }
TEST_F(Signals, TerminateGivesTheFinishedRuns) { expect_incomplete_report(SIGTERM); }

// A wrong scenario still says so by its exit code when started as a program.
TEST_F(Signals, ExitCodeOfTheProgram) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    ::execl(kProgram, "idlesim", "run", "none", static_cast<char*>(nullptr));
    ::_exit(99);
  }
  const int status = wait_for(child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace idlesim::app
