/* A library whose constructor uses files, as allocators and language runtimes do. Preloaded
   before and after the shim, it runs before the shim's own constructor. */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

__attribute__((constructor)) static void start(void) {
  const char* dir = getenv("EARLY_DIRECTORY");
  if (dir == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/f3", dir);
  struct stat st;
  struct statx x;
  int fd = open(path, O_RDONLY);
  int good = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 3000;
  long page = syscall(SYS_mmap, NULL, 4096UL, PROT_READ, MAP_PRIVATE, fd, 0UL);
  good += page != -1 && syscall(SYS_munmap, page, 4096UL) == 0;
  close(fd);
  good += syscall(SYS_access, path, R_OK) == 0 && syscall(SYS_close, -1) == -1;
  good += stat(path, &st) == 0 && st.st_size == 3000;
  good += statx(AT_FDCWD, path, 0, STATX_SIZE, &x) == 0 && x.stx_size == 3000;
  good += access(path, R_OK) == 0;
  FILE* stream = fopen(path, "r");
  good += stream != NULL && fclose(stream) == 0;
  DIR* directory = opendir(dir);
  good += directory != NULL && readdir(directory) != NULL && closedir(directory) == 0;
  struct dirent** names;
  int count = scandir(dir, &names, NULL, NULL);
  good += count > 0;
  for (int i = 0; i < count; ++i) free(names[i]);
  if (count >= 0) free(names);
  char line[32];
  int length = snprintf(line, sizeof line, "early %d of 9\n", good);
  if (write(STDOUT_FILENO, line, (size_t)length) < 0) abort();
}
