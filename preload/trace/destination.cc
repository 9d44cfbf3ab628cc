#include "preload/trace/destination.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "bodhi/lean/system/first_stderr.h"
#include "bodhi/lean/system/quiet_signals.h"
#include "preload/calls/raw.h"

namespace zazen::trace {
namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr int kTimeoutMs = 1000;

constinit char file[kMaxPath] = "";
constinit FirstStderr first_stderr;

void write_all(int fd, const char* text, std::size_t size) {
  while (size > 0) {
    ssize_t written = raw::write(fd, text, size);
    if (written >= 0) {
      text += written;
      size -= static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      struct pollfd ready = {fd, POLLOUT, 0};
      if (::poll(&ready, 1, kTimeoutMs) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

// "%p" becomes the process's number. False if the name grows too long.
bool expand(char (&out)[kMaxPath]) {
  std::size_t size = 0;
  for (const char* c = file; *c != '\0'; ++c) {
    if (size + 16 > sizeof out) return false;
    if (c[0] == '%' && c[1] == 'p') {
      size += static_cast<std::size_t>(::snprintf(out + size, 16, "%d", ::getpid()));
      ++c;
    } else {
      out[size++] = *c;
    }
  }
  out[size] = '\0';
  return true;
}

}  // namespace

// A relative name is relative to the directory where the program was started.
void read_destination() {
  first_stderr.remember();
  const char* value = ::secure_getenv("ZAZEN_TRACE_FILE");
  if (value == nullptr || *value == '\0') return;
  std::size_t directory = 0;
  if (*value != '/') {
    if (::syscall(SYS_getcwd, file, sizeof file - 1) <= 0) return;
    directory = std::strlen(file);
    file[directory++] = '/';
  }
  std::size_t length = std::strlen(value);
  bool fits = directory + length < sizeof file;
  if (fits) std::memcpy(file + directory, value, length);
  file[fits ? directory + length : 0] = '\0';
}

bool goes_to_stderr() {
  return file[0] == '\0' && first_stderr.is_there();
}

void write_trace(const char* text, std::size_t size) {
  QuietSignals quiet;
  if (goes_to_stderr()) return write_all(STDERR_FILENO, text, size);
  char path[kMaxPath];
  if (file[0] == '\0' || !expand(path)) return;
  int fd = raw::openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  write_all(fd, text, size);
  raw::close(fd);
}

}  // namespace zazen::trace
