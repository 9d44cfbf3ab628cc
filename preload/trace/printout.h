// The trace as people read it: one table of the call sites that opened, read or closed frames,
// the slowest first, and one line for all other files. A process that touched no frame prints
// nothing; without libzazen.so, which knows the frames, the table is of all files.
//
// It is printed when the process ends, by its destructors or by _exit, or before the program
// closes its standard error, as coreutils do on their way out: what comes after that is lost.
// (A duplicate of the descriptor would be worse: whoever waits for the end of a pipe would wait
// for a program that has long become a daemon.) Nor does it print before exec replaces it.
#pragma once

namespace zazen::trace {

bool prepare_printout();  // false: no memory
void start_afresh_in_child();

void print_at_end();
void print_before_stderr_closes();

}  // namespace zazen::trace
