// What the shim has to say: nothing, unless ZAZEN_LOG asks. One line is one write(2), to
// standard error, if that is still what it was at the start (first_stderr.h), or to
// ZAZEN_LOG_FILE, which is opened for the line and closed again.
#pragma once
#include "preload/settings.h"

namespace zazen {

__attribute__((format(printf, 2, 3))) void log_line(LogLevel level, const char* format, ...);

}  // namespace zazen
