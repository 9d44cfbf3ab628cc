#include "tools/bench/support/interruption.h"

#include <signal.h>

#include <initializer_list>
#include <thread>

#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

volatile sig_atomic_t noted = 0;

void note(int number) {
  noted = number;
}

}  // namespace

void note_interruptions() {
  struct sigaction action = {};
  action.sa_handler = note;  // without SA_RESTART
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int interruption() {
  return noted;
}

Status wait_until(const std::string& what, const std::function<Result<bool>()>& condition,
                  std::chrono::microseconds pause, std::chrono::seconds limit) {
  for (auto deadline = Clock::now() + limit; Clock::now() < deadline;) {
    Result<bool> met = condition();
    if (!met) return met.error();
    if (*met) return Done{};
    if (interruption() != 0) return Error{EINTR, what, {}};
    std::this_thread::sleep_for(pause);
  }
  return Error{ETIMEDOUT, what, {}};
}

}  // namespace zazen
