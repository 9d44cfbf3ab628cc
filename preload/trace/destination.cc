#include "preload/trace/destination.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "preload/raw.h"

namespace zazen::trace {
namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr int kPatienceMs = 1000;

constinit char file[kMaxPath] = "";
constinit bool had_stderr = false;
constinit struct stat first_stderr = {};

bool is_first_stderr() {
  struct stat st;
  return had_stderr && raw::fstat(STDERR_FILENO, &st) == 0 &&
         st.st_dev == first_stderr.st_dev && st.st_ino == first_stderr.st_ino;
}

// Holds back the signals that a write can bring, and takes away those that it brought.
class QuietSignals {
 public:
  QuietSignals() {
    ::sigemptyset(&held_);
    ::sigaddset(&held_, SIGPIPE);
    ::sigaddset(&held_, SIGXFSZ);
    ::sigpending(&pending_);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~QuietSignals() {
    struct timespec at_once = {};
    for (int signal : {SIGPIPE, SIGXFSZ}) {
      sigset_t one;
      ::sigemptyset(&one);
      ::sigaddset(&one, signal);
      if (::sigismember(&pending_, signal) == 0) ::sigtimedwait(&one, nullptr, &at_once);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t held_, pending_, before_;
};

void write_all(int fd, const char* text, std::size_t size) {
  while (size > 0) {
    ssize_t written = raw::write(fd, text, size);
    if (written >= 0) {
      text += written;
      size -= static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      struct pollfd ready = {fd, POLLOUT, 0};
      if (::poll(&ready, 1, kPatienceMs) <= 0) return;
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

// A relative name means one in the directory where the program was started.
void read_destination() {
  had_stderr = raw::fstat(STDERR_FILENO, &first_stderr) == 0;
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
  return file[0] == '\0' && is_first_stderr();
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
