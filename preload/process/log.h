// The messages of the shim: none, unless ZAZEN_LOG asks for them. One line is one write(2), to
// standard error, if that is the same file as at the start (first_stderr.h). With
// ZAZEN_LOG_FILE, the file is opened for the line and closed again.
//
// Two messages are always printed, to the same standard error: an invalid value, and a
// condition that would make a result wrong in silence (D24).
#pragma once
#include "preload/process/settings.h"

namespace zazen {

__attribute__((format(printf, 2, 3))) void log_line(LogLevel level, const char* format, ...);
__attribute__((format(printf, 1, 2))) void say_line(const char* format, ...);

}  // namespace zazen
