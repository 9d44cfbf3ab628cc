/* The state of a file after a change: by its path, and whether a descriptor that was opened
   before says the same. Device, inode and ctime differ from run to run and are only compared.
 */
#pragma once
#include "check.h"

static inline void show_state(const char* path, int fd) {
  struct stat named, open_file;
  if (stat(path, &named) != 0) {
    printf("  %s\n", strerrorname_np(errno));
    return;
  }
  printf("  mode %o owner %u %u size %ld mtime %ld.%09ld\n", named.st_mode, named.st_uid,
         named.st_gid, (long)named.st_size, named.st_mtim.tv_sec, named.st_mtim.tv_nsec);
  if (fd < 0) return;
  if (fstat(fd, &open_file) != 0) {
    printf("  fstat %s\n", strerrorname_np(errno));
    return;
  }
  printf("  by descriptor: mode %o owner %u %u size %ld mtime %ld.%09ld\n", open_file.st_mode,
         open_file.st_uid, open_file.st_gid, (long)open_file.st_size, open_file.st_mtim.tv_sec,
         open_file.st_mtim.tv_nsec);
  printf("  the same: file %d ctime %d\n",
         named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino,
         named.st_ctim.tv_sec == open_file.st_ctim.tv_sec &&
             named.st_ctim.tv_nsec == open_file.st_ctim.tv_nsec);
}

static inline void show_result(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}

static inline struct timespec changed_at(const char* path) {
  struct stat st;
  memset(&st, 0, sizeof st);
  stat(path, &st);
  return st.st_ctim;
}

static inline void show_change(const char* what, const char* path, struct timespec before,
                               long result) {
  show_result(what, result);
  struct timespec now = changed_at(path);
  printf("  ctime moved %d\n", now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec);
}

/* Some changes, of the owner to the same owner for instance, move the ctime and nothing else.
 */
#define SHOW_CHANGE(what, path, call)          \
  do {                                         \
    struct timespec before = changed_at(path); \
    long result = (call);                      \
    show_change(what, path, before, result);   \
  } while (0)

static inline const char* link_to(int fd) {
  static char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return link;
}
