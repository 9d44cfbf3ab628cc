// One's turn at a spinning disk (D17): where the table says that reads are ordered, a copy that
// is not in memory is brought in by the daemon, for one program after the other. Bounded; if
// the daemon does not answer, the program reads by itself.
#pragma once
#include "preload/route.h"

namespace zazen {

// errno is not kept.
void await_read_in(const Route& route, int copy_fd);

}  // namespace zazen
