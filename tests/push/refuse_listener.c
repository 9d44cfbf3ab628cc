/* Preloaded into zazend: the next duplicate of a listening socket is refused, as by a process
   that has no descriptor left. The file $REFUSE_LISTENER orders it, and goes with it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int listens(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  const char* order = getenv("REFUSE_LISTENER");
  if (command == F_DUPFD_CLOEXEC && listens(fd) && order != NULL && unlink(order) == 0) {
    errno = EMFILE;
    return -1;
  }
  return (int)syscall(SYS_fcntl, fd, command, argument);
}
