// A program that is linked with libzazen.so, so that the shim is there even where the loader
// ignores LD_PRELOAD. Says whether a frame is opened from the cache: by the kernel's own
// answer, of the descriptor and of the name.
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "exerciser/kernel.h"

namespace kernel = exerciser::kernel;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  struct stat by_name, by_fd;
  int fd = open(argv[1], O_RDONLY);
  if (fd < 0 || kernel::stat_at(AT_FDCWD, argv[1], &by_name, 0) != 0 ||
      kernel::stat_at(fd, "", &by_fd, AT_EMPTY_PATH) != 0) {
    return 1;
  }
  printf("secure %lu %s\n", getauxval(AT_SECURE),
         by_name.st_ino == by_fd.st_ino ? "origin" : "cache");
  return 0;
}
