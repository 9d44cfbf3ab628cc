#include "daemon/clean_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "bodhi/unique_fd.h"

namespace zazen {
namespace {

constexpr char kCleanMark[] = "clean";

}  // namespace

// A mark that cannot be taken away for good would outlive this daemon's end: it does not count.
bool take_clean_mark(int state_fd) {
  return ::unlinkat(state_fd, kCleanMark, 0) == 0 && ::fsync(state_fd) == 0;
}

int leave_clean_mark(int state_fd) {
  UniqueFd mark(::openat(state_fd, kCleanMark,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!mark.valid() || ::fsync(mark.get()) != 0 || ::fsync(state_fd) != 0) return errno;
  return 0;
}

}  // namespace zazen
