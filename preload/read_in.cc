#include "preload/read_in.h"

#include <sys/uio.h>

#include "preload/daemon_link.h"
#include "preload/raw.h"

namespace zazen {
namespace {

// Only EAGAIN says that the disk would be needed; where the file system cannot tell, it is none
// of those that this is for.
bool needs_the_disk(int fd, off_t offset) {
  char byte;
  struct iovec part = {&byte, 1};
  return raw_call(SYS_preadv2, fd, &part, 1, offset, 0, RWF_NOWAIT) == -EAGAIN;
}

}  // namespace

void await_read_in(const Route& route, int copy_fd) {
  struct stat st;
  if (raw::fstat(copy_fd, &st) != 0 || st.st_size == 0) return;
  if (needs_the_disk(copy_fd, 0) || needs_the_disk(copy_fd, st.st_size - 1)) {
    request_read_in(route);
  }
}

}  // namespace zazen
