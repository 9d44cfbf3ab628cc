// The thread that serves the clients comes before others that want the CPU.
//
// It does little for each request, but whoever connects without end takes a core, and then the
// line at the socket grows for as long as this thread waits for its turn: measured on two
// cores, with one such process, a p99 of 24 to 46 ms for somebody else's status, and of 6 ms
// with this and connection_queue.h; a process that merely spins costs 4 ms.
#pragma once

namespace zazen {

// For the calling thread and not for those that it starts later: short slices, and a higher
// priority if that is allowed and nobody chose another for the daemon. Says nothing if it
// cannot.
void raise_serving_priority();

}  // namespace zazen
