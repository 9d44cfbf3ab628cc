#include "preload/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "bodhi/quiet_signals.h"
#include "preload/hook.h"
#include "preload/raw.h"

namespace zazen {

void log_line(LogLevel level, const char* format, ...) {
  if (level > settings.log_level) return;
  ErrnoKeeper keep;
  char line[2048] = "zazen: ";
  constexpr int kPrefix = 7;
  va_list arguments;
  va_start(arguments, format);
  int length = ::vsnprintf(line + kPrefix, sizeof line - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  length += kPrefix;
  if (length > static_cast<int>(sizeof line) - 2) length = sizeof line - 2;
  line[length++] = '\n';

  QuietSignals quiet;
  if (settings.log_file[0] == '\0') {
    if (!settings.first_stderr.is_there()) return;
    raw::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    return;
  }
  int fd =
      raw::openat(AT_FDCWD, settings.log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  raw::write(fd, line, static_cast<std::size_t>(length));
  raw::close(fd);
}

}  // namespace zazen
