// Interruption: ^C, SIGTERM and SIGHUP are noted, not obeyed at once, so that a benchmark
// ends through its destructors and leaves no daemon and no directory behind.
#pragma once

namespace zazen {

void note_interruptions();
// The signal that asked this process to end, or 0. Blocking calls return EINTR at once.
int interruption();

}  // namespace zazen
