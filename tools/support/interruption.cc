#include "tools/support/interruption.h"

#include <signal.h>

#include <cstdio>

namespace zazen {
namespace {

volatile sig_atomic_t noted = 0;

void note(int number) {
  noted = number;
}

constexpr int kSignals[] = {SIGINT, SIGTERM};

}  // namespace

Interruption::Interruption() {
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int number : kSignals) ::sigaction(number, &action, nullptr);
}

Interruption::~Interruption() {
  for (int number : kSignals) ::signal(number, SIG_DFL);
}

bool Interruption::wanted() {
  return noted != 0;
}

void Interruption::pass_on() {
  if (noted == 0) return;
  std::fflush(nullptr);
  ::signal(noted, SIG_DFL);
  ::raise(noted);
}

}  // namespace zazen
