#include "tools/bench/support/interruption.h"

#include <signal.h>

#include <initializer_list>

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

}  // namespace zazen
