// The trace as people read it. One table has the call sites that opened, read or closed frames,
// the slowest first, and one line for all other files. A process that touched no frame prints
// nothing. Without libzazen.so, which knows the frames, the table is of all files.
//
// It is printed when the process ends, by its destructors or by _exit. If the program closes
// its standard error, as coreutils do at their end, it is printed before that, and later calls
// are lost. (A duplicate of the descriptor would keep a pipe open as long as a program runs
// that has become a daemon.) It is not printed before exec replaces the program.
#pragma once

namespace zazen::trace {

bool prepare_printout();  // false: no memory
void start_afresh_in_child();

void print_at_end();
void print_before_stderr_closes();

}  // namespace zazen::trace
