// The destination of the trace: the file in ZAZEN_TRACE_FILE ("%p" in it is the process's
// number), which is opened for it and appended to. Otherwise standard error, if that is the
// same file as at the start of the process. A program that began without standard error, or has
// closed it, may use the number for its own data.
#pragma once
#include <cstddef>

namespace zazen::trace {

void read_destination();  // from the environment, when the process starts
bool goes_to_stderr();

// One write(2) if possible. It never ends the process by SIGPIPE or SIGXFSZ, and waits at most
// a second for a full non-blocking terminal or pipe.
void write_trace(const char* text, std::size_t size);

}  // namespace zazen::trace
