/* getdents64 and getdirentries with large and small buffers, seeking, and what is no
   directory. */
#include <dirent.h>

#include "check.h"

typedef ssize_t (*Reader)(int fd, char* buffer, size_t size);

static ssize_t by_getdents(int fd, char* buffer, size_t size) {
  return getdents64(fd, buffer, size);
}
static ssize_t by_entries(int fd, char* buffer, size_t size) {
  off_t base = -5;
  ssize_t got = getdirentries(fd, buffer, size, &base);
  printf("  base %lld\n", (long long)base);
  return got;
}
static ssize_t by_entries_64(int fd, char* buffer, size_t size) {
  off64_t base = -5;
  ssize_t got = getdirentries64(fd, buffer, size, &base);
  printf("  base %lld\n", (long long)base);
  return got;
}

static void list(const char* what, int fd, Reader read, size_t size) {
  static char buffer[65536];
  ssize_t got;
  errno = ENOTTY;
  while ((got = read(fd, buffer, size)) > 0) {
    for (char* at = buffer; at < buffer + got;) {
      struct dirent64* entry = (struct dirent64*)at;
      printf("  %s %d %llu %lld\n", entry->d_name, entry->d_type,
             (unsigned long long)entry->d_ino, (long long)entry->d_off);
      at += entry->d_reclen;
    }
  }
  printf("%s %zu: %zd %s at %lld\n", what, size, got, strerrorname_np(errno),
         (long long)lseek(fd, 0, SEEK_CUR));
}

static void list_all(const char* path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY);
  static const size_t sizes[] = {65536, 300, 64, 32, 10, 0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    lseek(fd, 0, SEEK_SET);
    list("getdents64", fd, by_getdents, sizes[i]);
    lseek(fd, 0, SEEK_SET);
    list("getdirentries", fd, by_entries, sizes[i]);
    lseek(fd, 0, SEEK_SET);
    list("getdirentries64", fd, by_entries_64, sizes[i]);
  }

  /* From the second entry's d_off on come the third and all the others. */
  static char buffer[65536];
  lseek(fd, 0, SEEK_SET);
  if (getdents64(fd, buffer, sizeof buffer) > 0) {
    struct dirent64* first = (struct dirent64*)buffer;
    struct dirent64* second = (struct dirent64*)(buffer + first->d_reclen);
    lseek(fd, second->d_off, SEEK_SET);
    list("after seeking", fd, by_getdents, sizeof buffer);
  }
  close(fd);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  list_all(argv[1]);
  list_all(join(argv[1], "../link"));
  list_all(join(argv[1], "../other"));
  int file = open(join(argv[1], "f3"), O_RDONLY);
  list("a file", file, by_getdents, 100);
  list("a file", file, by_entries, 100);
  list("nothing", 999, by_getdents, 100);
  list("nothing", 999, by_entries_64, 100);
  int fd = open(argv[1], O_RDONLY | O_DIRECTORY);
  printf("into nothing %zd", getdents64(fd, NULL, 1000));
  printf(" %s\n", strerrorname_np(errno));
  return 0;
}
