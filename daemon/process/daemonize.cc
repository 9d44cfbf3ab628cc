#include "daemon/process/daemonize.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace zazen {
namespace {

[[noreturn]] void wait_for_child(pid_t child, int from_child) {
  char byte = 0;
  ssize_t size;
  do {
    size = ::read(from_child, &byte, 1);
  } while (size < 0 && errno == EINTR);
  if (size == 1) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::_exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
}

}  // namespace

Background Background::enter() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    std::perror("zazend: error: pipe");
    std::exit(1);
  }
  pid_t child = ::fork();
  if (child < 0) {
    std::perror("zazend: error: fork");
    std::exit(1);
  }
  if (child > 0) {
    ::close(ends[1]);
    wait_for_child(child, ends[0]);
  }
  ::close(ends[0]);
  ::setsid();
  return Background(UniqueFd(ends[1]));
}

UniqueFd open_log(const std::string& log_file) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  return UniqueFd(::open(log_file.c_str(), kFlags, 0600));
}

void write_to_log(const std::string& log_file) {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd log = open_log(log_file);
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(null.get(), STDOUT_FILENO);
  ::dup2(log.valid() ? log.get() : null.get(), STDERR_FILENO);
}

void Background::ready(const std::string& log_file) {
  write_to_log(log_file);
  [[maybe_unused]] ssize_t written = ::write(to_parent_.get(), "1", 1);
  to_parent_.reset();
}

}  // namespace zazen
