// Interruption: the first ^C (or SIGTERM) is a wish to end in order, the second one ends at
// once.
#pragma once

namespace zazen {

class Interruption {
 public:
  Interruption();  // one at a time
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool wanted();
  // Ends the program by the signal that came, so that a shell sees it; returns if none did.
  static void pass_on();
};

}  // namespace zazen
