/* ioctl: the requests on a file's flags, project, version and verity need no more than a
   descriptor for reading. A descriptor for writing must show the change, too. */
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "file_state.h"

static const char* dir;

static int begin(const char* name, int flags) {
  int fd = open(join(dir, name), flags);
  if (fd < 0) exit(3);
  return fd;
}

static void show_flags(int fd) {
  int flags = 0;
  struct fsxattr more;
  memset(&more, 0, sizeof more);
  show_result("  GETFLAGS", ioctl(fd, FS_IOC_GETFLAGS, &flags));
  printf("  %x\n", (unsigned)flags);
  show_result("  FSGETXATTR", ioctl(fd, FS_IOC_FSGETXATTR, &more));
  printf("  %x project %u\n", more.fsx_xflags, more.fsx_projid);
}

static int set_flags(int fd, int set, int clear) {
  int flags = 0;
  ioctl(fd, FS_IOC_GETFLAGS, &flags);
  flags = (flags | set) & ~clear;
  return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* By a descriptor from before, by one for reading, by one for writing. */
static void show_all(const char* name, int before) {
  show_flags(before);
  int fd = begin(name, O_RDONLY);
  show_flags(fd);
  show_fd("  content", fd);
  fd = begin(name, O_RDWR);
  show_flags(fd);
  close(fd);
}

static void change_flags(void) {
  const char* path = join(dir, "f1");
  int fd = begin("f1", O_RDONLY);
  show_flags(fd);
  SHOW_CHANGE("SETFLAGS", path, set_flags(fd, FS_NODUMP_FL, 0));
  show_all("f1", fd);
  show_state(path, fd);
  struct fsxattr more;
  memset(&more, 0, sizeof more);
  ioctl(fd, FS_IOC_FSGETXATTR, &more);
  more.fsx_xflags = (more.fsx_xflags & ~(unsigned)FS_XFLAG_NODUMP) | FS_XFLAG_NOATIME;
  SHOW_CHANGE("FSSETXATTR", path, ioctl(fd, FS_IOC_FSSETXATTR, &more));
  show_all("f1", fd);
  show_state(path, fd);
  close(fd);
}

static void change_by_number(void) {
  int fd = begin("f2", O_RDONLY), flags = 0;
  show_result("SYS_ioctl", syscall(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags));
  printf("  %x\n", (unsigned)flags);
  flags |= FS_NODUMP_FL;
  show_result("SYS_ioctl", syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags));
  show_all("f2", fd);
  close(fd);
}

/* Only root may do that; nobody may then write. */
static void change_immutable(void) {
  int fd = begin("f3", O_RDONLY);
  show_result("immutable", set_flags(fd, FS_IMMUTABLE_FL, 0));
  show_flags(fd);
  show_fd("to write", open(join(dir, "f3"), O_WRONLY));
  show_fd("to read", open(join(dir, "f3"), O_RDONLY));
  show_result("mutable", set_flags(fd, 0, FS_IMMUTABLE_FL));
  show_all("f3", fd);
  close(fd);
}

/* A version is drawn by lot when the file is made: it is compared, not shown. */
static void change_version(void) {
  int fd = begin("f5", O_RDONLY);
  int writer = begin("f5", O_RDWR);
  int version = 0, same = 0;
  show_result("GETVERSION", ioctl(fd, FS_IOC_GETVERSION, &version));
  show_result("GETVERSION", ioctl(writer, FS_IOC_GETVERSION, &same));
  printf("  the same %d\n", version == same);
  version += 7;
  show_result("SETVERSION", ioctl(fd, FS_IOC_SETVERSION, &version));
  ioctl(writer, FS_IOC_GETVERSION, &same);
  printf("  moved by %d\n", version - same);
  close(writer);
  close(fd);
}

static void change_verity(void) {
  struct {
    struct fsverity_digest head;
    char bytes[64];
  } digest;
  struct fsverity_enable_arg how;
  memset(&how, 0, sizeof how);
  how.version = 1;
  how.hash_algorithm = FS_VERITY_HASH_ALG_SHA256;
  how.block_size = 4096;
  digest.head.digest_size = sizeof digest.bytes;
  int fd = begin("f6", O_RDONLY);
  show_result("MEASURE_VERITY", ioctl(fd, FS_IOC_MEASURE_VERITY, &digest));
  show_result("ENABLE_VERITY", ioctl(fd, FS_IOC_ENABLE_VERITY, &how));
  show_result("MEASURE_VERITY", ioctl(fd, FS_IOC_MEASURE_VERITY, &digest));
  close(fd);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  change_flags();
  change_by_number();
  change_immutable();
  change_version();
  change_verity();

  int fd = begin("f7", O_RDONLY), waiting = -1, pipe_fds[2];
  show_result("FIONREAD", ioctl(fd, FIONREAD, &waiting));
  printf("  %d\n", waiting);
  show_result("FIOCLEX", ioctl(fd, FIOCLEX));
  printf("  cloexec %d\n", fcntl(fd, F_GETFD));
  show_result("null", ioctl(fd, FS_IOC_SETFLAGS, NULL));
  show_result("null", ioctl(fd, FS_IOC_GETFLAGS, NULL));
  show_result("TIOCGWINSZ", ioctl(fd, TIOCGWINSZ, NULL));
  unlink(join(dir, "f7"));
  show_result("removed", ioctl(fd, FIONREAD, &waiting));
  close(fd);
  if (pipe(pipe_fds) != 0 || write(pipe_fds[1], "four", 4) != 4) return 1;
  show_result("pipe", ioctl(pipe_fds[0], FIONREAD, &waiting));
  printf("  %d\n", waiting);
  show_result("pipe", ioctl(pipe_fds[0], FS_IOC_SETFLAGS, &waiting));
  show_result("nothing", ioctl(-1, FS_IOC_GETFLAGS, &waiting));
  return 0;
}
