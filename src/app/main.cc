#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "idlesim/app/program.h"

namespace {

// A signal handler can reach nothing but globals.
idlesim::app::Interrupt g_interrupt;

extern "C" void on_signal(int signal) {
  g_interrupt.signal = signal;
  g_interrupt.requested = true;
}

// The first signal asks for an orderly end; SA_RESETHAND: the second one kills.
void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  catch_signals();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const idlesim::app::Surroundings surroundings{
      std::cout,
      std::cerr,
      isatty(STDOUT_FILENO) != 0,
      isatty(STDERR_FILENO) != 0,
      [](const char* name) -> const char* { return std::getenv(name); },
      &g_interrupt};
  return idlesim::app::run_program(arguments, surroundings);
}
