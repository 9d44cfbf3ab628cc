/* scandirat in both spellings: relative to a descriptor, to the working directory, absolute. */
#include <dirent.h>

#include "check.h"

static int has_digit(const struct dirent* entry) {
  return strpbrk(entry->d_name, "0123456789") != NULL;
}
static int has_digit_64(const struct dirent64* entry) {
  return strpbrk(entry->d_name, "0123456789") != NULL;
}

static void scan(int dirfd, const char* path) {
  struct dirent** names;
  errno = ENOTTY;
  int found = scandirat(dirfd, path, &names, has_digit, versionsort);
  printf("scandirat %s: %d %s\n", path, found, strerrorname_np(errno));
  for (int i = 0; i < found; ++i) {
    printf("  %s %d %llu\n", names[i]->d_name, names[i]->d_type,
           (unsigned long long)names[i]->d_ino);
    free(names[i]);
  }
  if (found >= 0) free(names);
  struct dirent64** names64;
  found = scandirat64(dirfd, path, &names64, has_digit_64, NULL);
  printf("scandirat64 %s: %d\n", path, found);
  for (int i = 0; i < found; ++i) {
    printf("  %s\n", names64[i]->d_name);
    free(names64[i]);
  }
  if (found >= 0) free(names64);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int above = open(join(argv[1], ".."), O_RDONLY | O_DIRECTORY);
  int inside = open(argv[1], O_RDONLY | O_DIRECTORY);
  int file = open(join(argv[1], "f3"), O_RDONLY);
  scan(above, "sim1");
  scan(above, "link");
  scan(above, "other");
  scan(above, "none");
  scan(above, "sim1/f3");
  scan(inside, ".");
  scan(inside, "");
  scan(file, ".");
  scan(999, ".");
  scan(999, argv[1]);
  scan(AT_FDCWD, argv[1]);
  chdir(argv[1]);
  scan(AT_FDCWD, ".");
  printf("next fd %d\n", dup(0));
  return 0;
}
