/* The file system of a frame, by path, by descriptor and by link. Free space changes while the
   test runs; what a file system is does not. The cache is on another one, if there is one. */
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "file_state.h"

static void show(const char* what, int result, unsigned long kind, unsigned long block,
                 unsigned long blocks) {
  show_result(what, result);
  if (result == 0) printf("  kind %lx block %lu blocks %lu\n", kind, block, blocks);
}

#define SHOW_STATFS(call, st)                                                              \
  do {                                                                                     \
    int result = (call);                                                                   \
    show(#call, result, (unsigned long)st.f_type, (unsigned long)st.f_bsize, st.f_blocks); \
  } while (0)
#define SHOW_STATVFS(call, st)                               \
  do {                                                       \
    int result = (call);                                     \
    show(#call, result, st.f_fsid, st.f_bsize, st.f_blocks); \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* path = join(argv[1], "f5");
  const char* missing = join(argv[1], "f999");
  int fd = open(path, O_RDONLY);
  struct statfs st;
  struct statfs64 st64;
  SHOW_STATFS(statfs(path, &st), st);
  SHOW_STATFS(statfs64(path, &st64), st64);
  SHOW_STATFS(fstatfs(fd, &st), st);
  SHOW_STATFS(fstatfs64(fd, &st64), st64);
  SHOW_STATFS(statfs(link_to(fd), &st), st);
  SHOW_STATFS(statfs64(link_to(fd), &st64), st64);
  SHOW_STATFS(fstatfs(-1, &st), st);
  SHOW_STATFS(statfs(missing, &st), st);
  struct statvfs v;
  struct statvfs64 v64;
  SHOW_STATVFS(statvfs(path, &v), v);
  SHOW_STATVFS(statvfs64(path, &v64), v64);
  SHOW_STATVFS(fstatvfs(fd, &v), v);
  SHOW_STATVFS(fstatvfs64(fd, &v64), v64);
  SHOW_STATVFS(statvfs(link_to(fd), &v), v);
  SHOW_STATVFS(statvfs64(link_to(fd), &v64), v64);
  SHOW_STATVFS(fstatvfs(-1, &v), v);
  SHOW_STATVFS(statvfs(missing, &v), v);
  return 0;
}
