// ioctl: the requests that read or set a file's flags, project and version go to the origin's
// file. A descriptor that was opened for reading is enough for them. All other requests cost
// one switch before libc's call.
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <stdarg.h>

#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/frame_change.h"

namespace {

int forward(int fd, unsigned long request, void* argument) {
  return ZAZEN_CALL(ioctl, fd, request, argument);
}

// If the origin is gone, the copy answers.
int ask(int fd, unsigned long request, void* argument) {
  return zazen::ask_open(fd, [&](int file) { return forward(file, request, argument); });
}

int change(int fd, unsigned long request, void* argument) {
  return zazen::change_open(fd, [&](int file) { return forward(file, request, argument); });
}

}  // namespace

ZAZEN_HOOK int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  switch (request) {
    case FS_IOC_GETFLAGS:
    case FS_IOC_FSGETXATTR:
    case FS_IOC_GETVERSION:
    case FS_IOC_MEASURE_VERITY:
      return ask(fd, request, argument);
    case FS_IOC_SETFLAGS:
    case FS_IOC_FSSETXATTR:
    case FS_IOC_SETVERSION:
    case FS_IOC_ENABLE_VERITY:
      return change(fd, request, argument);
    default:
      return forward(fd, request, argument);
  }
}
