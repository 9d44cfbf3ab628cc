/* access and its kin. */
#include "file_state.h"

static void show(const char* what, int result) {
  printf("%s: %d %s\n", what, result, result == 0 ? "" : strerrorname_np(errno));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  const char* names[] = {"f3", "f0", "f999", "f77", "f55", "notes.txt", "f3/", ""};
  int modes[] = {F_OK, R_OK, W_OK, X_OK, R_OK | W_OK, R_OK | X_OK, 64};
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 7; ++j) {
      const char* path = join(dir, names[i]);
      printf("%s %d\n", names[i], modes[j]);
      show(" access", access(path, modes[j]));
      show(" eaccess", eaccess(path, modes[j]));
      show(" euidaccess", euidaccess(path, modes[j]));
      show(" faccessat", faccessat(dirfd, names[i], modes[j], 0));
      show(" effective", faccessat(dirfd, names[i], modes[j], AT_EACCESS));
      show(" nofollow", faccessat(dirfd, names[i], modes[j], AT_SYMLINK_NOFOLLOW));
    }
  }
  int fd = open(join(dir, "f12"), O_RDONLY); /* may be executed */
  for (int j = 0; j < 7; ++j) {
    printf("by link %d\n", modes[j]);
    show(" access", access(link_to(fd), modes[j]));
    show(" eaccess", eaccess(link_to(fd), modes[j]));
    show(" euidaccess", euidaccess(link_to(fd), modes[j]));
    show(" faccessat", faccessat(dirfd, link_to(fd), modes[j], 0));
    show(" nofollow", faccessat(dirfd, link_to(fd), modes[j], AT_SYMLINK_NOFOLLOW));
  }
  for (int j = 0; j < 7; ++j) {
    printf("by descriptor %d\n", modes[j]);
    show(" faccessat", faccessat(fd, "", modes[j], AT_EMPTY_PATH));
    show(" effective", faccessat(fd, "", modes[j], AT_EMPTY_PATH | AT_EACCESS));
    show(" without the flag", faccessat(fd, "", modes[j], 0));
  }
  close(fd);
  show("bad flags", faccessat(dirfd, "f3", R_OK, 0x40000000));
  show("null", access((const char*)(intptr_t)0, R_OK));
  return 0;
}
