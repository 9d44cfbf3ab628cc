// lseek: seeks are the kernel's alone. A file server is asked for the size at a seek to the
// end, as at a stat, so a seek to the end of an open file that is no frame is counted as a
// stat.
#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/frames/other_call.h"

namespace {

template <class Forward>
auto seek(int fd, int whence, Forward forward) {
  return whence == SEEK_END ? zazen::stat_open(fd, forward) : forward();
}

}  // namespace

ZAZEN_HOOK off_t lseek(int fd, off_t offset, int whence) noexcept {
  return seek(fd, whence, [&] { return ZAZEN_CALL(lseek, fd, offset, whence); });
}

ZAZEN_HOOK off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  return seek(fd, whence, [&] {
    return ZAZEN_FORWARD(lseek64, (fd, offset, whence),
                         zazen::raw::call(SYS_lseek, fd, offset, whence));
  });
}
