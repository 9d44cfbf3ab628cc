/* Every spelling of open, on frames and on what only looks like one. */
#include "check.h"

int __open(const char*, int, ...);
int __open64(const char*, int, ...);
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);

static void show(const char* what, int result) {
  show_fd(what, result);
  errno = 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* dir = argv[1];
  const char* f3 = join(dir, "f3");
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);

  errno = ENOTTY; /* a success leaves errno alone */
  int fd = open(f3, O_RDONLY);
  printf("errno after success %s\n", strerrorname_np(errno));
  show("open", fd);
  show("open64", open64(f3, O_RDONLY | O_CLOEXEC));
  show("openat absolute", openat(-1, f3, O_RDONLY));
  show("openat", openat(dirfd, "f3", O_RDONLY));
  show("openat64", openat64(dirfd, "./f3", O_RDONLY | O_NONBLOCK));
  show("__open", __open(f3, O_RDONLY));
  show("__open64", __open64(f3, O_RDONLY | O_CLOEXEC));
  show("__open_2", __open_2(f3, O_RDONLY));
  show("__open64_2", __open64_2(f3, O_RDONLY));
  show("__openat_2", __openat_2(dirfd, "f3", O_RDONLY));
  show("__openat64_2", __openat64_2(dirfd, "f3", O_RDONLY));
  show("empty frame", open(join(dir, "f0"), O_RDONLY));
  show("no frame", open(join(dir, "notes.txt"), O_RDONLY));
  show("not canonical", open(join(dir, "f03"), O_RDONLY));
  show("double slash", open(join(dir, "/f3"), O_RDONLY));
  show("dot", open(join(dir, "./f3"), O_RDONLY));
  show("dot dot", open(join(dir, "../sim1/f3"), O_RDONLY));
  show("symlink to the directory", open(join(dir, "../link/f3"), O_RDONLY));
  show("symlink frame", open(join(dir, "f77"), O_RDONLY));
  show("symlink frame, nofollow", open(join(dir, "f77"), O_RDONLY | O_NOFOLLOW));
  show("same name elsewhere", open(join(dir, "../other/f3"), O_RDONLY));
  show("directory named as a frame", open(join(dir, "f55"), O_RDONLY | O_NOCTTY));
  show("nofollow", open(f3, O_RDONLY | O_NOFOLLOW));
  show("noatime", open(f3, O_RDONLY | O_NOATIME));

  show("missing", open(join(dir, "f999"), O_RDONLY));
  show("missing directory", open(join(dir, "none/f3"), O_RDONLY));
  show("trailing slash", open(join(dir, "f3/"), O_RDONLY));
  show("frame as directory", open(f3, O_RDONLY | O_DIRECTORY));
  show("null", open((const char*)(intptr_t)0, O_RDONLY));
  show("empty", open("", O_RDONLY));
  show("bad dirfd", openat(12345, "f3", O_RDONLY));
  show("file as dirfd", openat(0, "f3", O_RDONLY));
  show("exclusive", open(f3, O_WRONLY | O_CREAT | O_EXCL, 0600));
  char* longest = malloc(9000);
  memset(longest, 'x', 8999);
  longest[0] = '/';
  longest[8996] = '/';
  longest[8997] = 'f';
  longest[8998] = '3';
  longest[8999] = '\0';
  show("too long", open(longest, O_RDONLY));
  free(longest);

  fd = open(f3, O_PATH);
  printf("O_PATH: fd %d flags %o\n", fd, fcntl(fd, F_GETFL));
  close(fd);

  if (chdir(dir) != 0) return 1;
  show("relative", open("f3", O_RDONLY));
  show("relative dot", open("./f3", O_RDONLY));
  show("relative up", open("../sim1/f3", O_RDONLY));
  show("relative link", open("../link/f3", O_RDONLY));
  show("relative other", open("../other/f3", O_RDONLY));
  if (chdir("..") != 0) return 1;
  show("relative down", open("sim1/f3", O_RDONLY));
  show("relative double", open("sim1//f3", O_RDONLY));
  show("relative elsewhere", open("f3", O_RDONLY));
  close(dirfd);

  for (int i = 0; i < 10; ++i) { /* all stay open: the numbers go up one by one */
    char name[8];
    snprintf(name, sizeof name, "f%d", i);
    printf("number %d\n", open(join(dir, name), O_RDONLY));
  }
  return 0;
}
