#include "preload/process/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "bodhi/lean/system/quiet_signals.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"

namespace zazen {

namespace {

struct Line {
  char text[2048] = "zazen: ";
  std::size_t length = 0;  // 0: nothing to say

  void format(const char* format, va_list arguments) {
    constexpr int kPrefix = 7;
    int rest = ::vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
    if (rest < 0) return;
    length = static_cast<std::size_t>(rest) + kPrefix;
    if (length > sizeof text - 2) length = sizeof text - 2;
    text[length++] = '\n';
  }
};

}  // namespace

void log_line(LogLevel level, const char* format, ...) {
  if (level > settings.log_level) return;
  ErrnoKeeper keep;
  Line line;
  va_list arguments;
  va_start(arguments, format);
  line.format(format, arguments);
  va_end(arguments);

  QuietSignals quiet;
  if (settings.log_file[0] == '\0') {
    if (settings.first_stderr.is_there()) raw::write(STDERR_FILENO, line.text, line.length);
    return;
  }
  int fd =
      raw::openat(AT_FDCWD, settings.log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  raw::write(fd, line.text, line.length);
  raw::close(fd);
}

void say_line(const char* format, ...) {
  ErrnoKeeper keep;
  Line line;
  va_list arguments;
  va_start(arguments, format);
  line.format(format, arguments);
  va_end(arguments);
  if (!settings.first_stderr.is_there()) return;
  QuietSignals quiet;
  raw::write(STDERR_FILENO, line.text, line.length);
}

}  // namespace zazen
