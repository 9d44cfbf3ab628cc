// Interruption: the first ^C (or SIGTERM) asks for an orderly end, the second one ends the
// program at once.
#pragma once

namespace zazen {

class Interruption {
 public:
  Interruption();  // one at a time
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool wanted();
  // Ends the program by the signal that came, so that a shell sees it. Returns if none came.
  static void pass_on();
};

}  // namespace zazen
