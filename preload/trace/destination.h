// Where the trace goes: to the file in ZAZEN_TRACE_FILE ("%p" in it is the process's number),
// which is opened for it and appended to, or else to standard error, if that is still the file
// that it was when the process started: a program that began without one, or has closed it, may
// have its own data under the same number.
#pragma once
#include <cstddef>

namespace zazen::trace {

void read_destination();  // from the environment, when the process starts
bool goes_to_stderr();

// One write(2) if it can be. It never ends the process by SIGPIPE or SIGXFSZ, nor waits longer
// than a second for a terminal or pipe that does not block.
void write_trace(const char* text, std::size_t size);

}  // namespace zazen::trace
