/* The calls that take a descriptor; none of the shim's own is left open. */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

#include "check.h"

static void show_open_descriptors(void) {
  DIR* dir = opendir("/proc/self/fd");
  int bits = 0;
  struct dirent* entry;
  while ((entry = readdir(dir)) != NULL) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(dir)) bits |= 1 << fd;
  }
  closedir(dir);
  printf("open descriptors %x\n", bits);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* dir = argv[1];
  const char* f6 = join(dir, "f6");
  show_open_descriptors();
  int fd = open(f6, O_RDONLY);
  show_open_descriptors();

  char byte[4];
  printf("lseek %ld\n", (long)lseek(fd, -4, SEEK_END));
  printf("lseek64 %lld\n", (long long)lseek64(fd, -4, SEEK_END));
  printf("read %ld\n", (long)read(fd, byte, 4));
  printf("end %ld\n", (long)read(fd, byte, 4));
  printf("pread %ld %d\n", (long)pread(fd, byte, 4, 100), byte[0]);
  printf("write %d %s\n", write(fd, "x", 1) < 0, strerrorname_np(errno));
  struct stat st;
  fstat(fd, &st);
  unsigned char* map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
  printf("mmap %016llx\n", (unsigned long long)checksum(1, map, (size_t)st.st_size));

  int twin = dup(fd);
  lseek(fd, 0, SEEK_SET);
  int again = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  printf("dup %d at %ld\n", twin, (long)lseek(again, 0, SEEK_CUR));
  close(again);
  fflush(stdout);
  if (fork() == 0) { /* the offset is shared, as after any fork */
    _exit(read(fd, byte, 4) == 4 ? 0 : 1);
  }
  int status;
  wait(&status);
  printf("child %d, parent at %ld\n", WEXITSTATUS(status), (long)lseek(twin, 0, SEEK_CUR));
  int sink = memfd_create("sink", 0);
  printf("sendfile %ld\n", (long)sendfile(sink, fd, NULL, 1 << 20));
  close(sink);

  close_range(3, ~0U, 0);
  printf("after close_range ");
  show_open_descriptors();
  show_fd("open", open(f6, O_RDONLY));
  show_fd("missing", open(join(dir, "f998"), O_RDONLY));

  close(0); /* the lowest free number is 0 now */
  show_fd("open as 0", open(f6, O_RDONLY));
  char list[64];
  snprintf(list, sizeof list, "exec ls /proc/self/fd | wc -l");
  fflush(stdout);
  open(f6, O_RDONLY);
  printf("exec %d\n", system(list));
  show_open_descriptors();
  return 0;
}
