// What the shim has to say: nothing, unless ZAZEN_LOG asks. One line is one write(2), to
// standard error, if that is still what it was at the start (first_stderr.h), or to
// ZAZEN_LOG_FILE, which is opened for the line and closed again.
//
// Said always, and to the same standard error: a value that makes no sense, and what would make a result
// wrong in silence (D24).
#pragma once
#include "preload/process/settings.h"

namespace zazen {

__attribute__((format(printf, 2, 3))) void log_line(LogLevel level, const char* format, ...);
__attribute__((format(printf, 1, 2))) void say_line(const char* format, ...);

}  // namespace zazen
