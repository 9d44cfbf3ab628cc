// slow_origin: a file server for tests, on FUSE. It shows a directory as it is, over a link of
// so many bytes a second, and keeps account of what it sends.
//
//     slow_origin DIRECTORY MOUNTPOINT RATE cached|direct
//
// "cached" lets the kernel keep pages, as NFS does, until a file's size or mtime changes;
// "direct" does not. Five files of its own in the mount point:
//     .sent      a line "BYTES PATH" for each file of which something was sent
//     .asked     a line "REQUESTS PID PATH" for each file that it was asked about by a process;
//                0: the kernel, for nobody
//     .held      a line "NANOSECONDS PID PATH": how long it held these requests
//     .requests  a line "REQUESTS PID" for each process that has asked
//     .control   takes one command at a time:
//                  rate BYTES       of the link, 0 for no limit
//                  delay US         before each answer
//                  reset            begins the accounts anew
//                  fail OFFSET      reads from there on fail with EIO
//                  hang OFFSET      reads from there on do not return
//                  release          ends both
//                  blocks 0|1       whether a stat tells the blocks of a file
//                  age SECONDS      that all files look older than they are
// Sizes and times come from the directory at each stat, so that a change there is what another
// client's would be. It runs in the foreground.
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kFiles = 4096, kName = 256 };
static const char kControlFile[] = "/.control";
static const off_t kNever = (off_t)1 << 62;

static int root;
static int direct;
static int tells_blocks = 1;
static time_t age;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static double rate, link_free_at;
static off_t fail_at, hang_at;
static long long delay_us;
struct account {
  char name[kName];
  long long sum;
};
static struct account sent[kFiles], asked[kFiles], held[kFiles], requests[kFiles];
static const struct {
  const char* file;
  struct account* accounts;
} kAccounts[] = {
    {"/.sent", sent}, {"/.asked", asked}, {"/.held", held}, {"/.requests", requests}};
enum { kAccountFiles = sizeof kAccounts / sizeof *kAccounts };
static int resets;

static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

static struct account* accounts_in(const char* path) {
  for (int i = 0; i < kAccountFiles; ++i)
    if (strcmp(path, kAccounts[i].file) == 0) return kAccounts[i].accounts;
  return NULL;
}

static int own_file(const char* path) {
  return accounts_in(path) != NULL || strcmp(path, kControlFile) == 0;
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Returns the entry, or kFiles if there is no room.
static int add_to(struct account* accounts, const char* name, long long number) {
  for (int i = 0; i < kFiles; ++i) {
    if (accounts[i].name[0] == '\0') snprintf(accounts[i].name, kName, "%s", name);
    if (strcmp(accounts[i].name, name) != 0) continue;
    accounts[i].sum += number;
    return i;
  }
  return kFiles;
}

// Each request for a file of the directory begins with this.
static void be_asked(const char* path) {
  const double began = now_seconds();
  char pid[16], what[kName];
  snprintf(pid, sizeof pid, "%d", (int)fuse_get_context()->pid);
  snprintf(what, sizeof what, "%s %s", pid, below(path));
  pthread_mutex_lock(&mutex);
  const int entry = add_to(asked, what, 1), account = resets;
  if (entry < kFiles) memcpy(held[entry].name, asked[entry].name, kName);
  add_to(requests, pid, 1);
  const long long delay = delay_us;
  pthread_mutex_unlock(&mutex);
  if (delay > 0) usleep((useconds_t)delay);
  pthread_mutex_lock(&mutex);
  if (account == resets && entry < kFiles)
    held[entry].sum += (long long)((now_seconds() - began) * 1e9);
  pthread_mutex_unlock(&mutex);
}

// One answer after the other goes over the link.
static void send_over_link(const char* path, size_t bytes) {
  pthread_mutex_lock(&mutex);
  double now = now_seconds();
  if (rate > 0) {
    if (link_free_at < now) link_free_at = now;
    link_free_at += (double)bytes / rate;
    double until = link_free_at;
    pthread_mutex_unlock(&mutex);
    struct timespec at = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
    pthread_mutex_lock(&mutex);
  }
  add_to(sent, below(path), (long long)bytes);
  pthread_mutex_unlock(&mutex);
}

static int origin_getattr(const char* path, struct stat* st, struct fuse_file_info* info) {
  (void)info;
  if (own_file(path)) {
    memset(st, 0, sizeof *st);
    st->st_mode = S_IFREG | 0600;
    st->st_nlink = 1;
    return 0;
  }
  be_asked(path);
  if (fstatat(root, below(path), st, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!tells_blocks) st->st_blocks = 0;
  st->st_mtim.tv_sec -= age;
  st->st_ctim.tv_sec -= age;
  return 0;
}

static int origin_readdir(const char* path, void* entries, fuse_fill_dir_t add, off_t offset,
                          struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  be_asked(path);
  int fd = openat(root, below(path), O_RDONLY | O_DIRECTORY);
  DIR* directory = fd < 0 ? NULL : fdopendir(fd);
  if (directory == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    add(entries, entry->d_name, NULL, 0, 0);
  }
  closedir(directory);
  return 0;
}

static int origin_open(const char* path, struct fuse_file_info* info) {
  if (own_file(path)) {
    info->direct_io = 1;
    return 0;
  }
  be_asked(path);
  int fd = openat(root, below(path), (info->flags & ~(O_CREAT | O_EXCL)) | O_NOFOLLOW);
  if (fd < 0) return -errno;
  info->fh = (uint64_t)fd;
  info->direct_io = direct ? 1 : 0;
  return 0;
}

static int origin_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  be_asked(path);
  int fd = openat(root, below(path), info->flags, mode);
  if (fd < 0) return -errno;
  info->fh = (uint64_t)fd;
  return 0;
}

static int read_account(const struct account* accounts, char* buffer, size_t size,
                        off_t offset) {
  static const size_t kLargest = kFiles * (kName + 24);
  char* text = malloc(kLargest);
  size_t length = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < kFiles && accounts[i].name[0] != '\0'; ++i) {
    length += (size_t)snprintf(text + length, kLargest - length, "%lld %s\n", accounts[i].sum,
                               accounts[i].name);
  }
  pthread_mutex_unlock(&mutex);
  size_t from = (size_t)offset < length ? (size_t)offset : length;
  size_t count = length - from < size ? length - from : size;
  memcpy(buffer, text + from, count);
  free(text);
  return (int)count;
}

static int origin_read(const char* path, char* buffer, size_t size, off_t offset,
                       struct fuse_file_info* info) {
  if (own_file(path)) {
    const struct account* accounts = accounts_in(path);
    return accounts == NULL ? 0 : read_account(accounts, buffer, size, offset);
  }
  be_asked(path);
  pthread_mutex_lock(&mutex);
  while (offset + (off_t)size > hang_at) pthread_cond_wait(&changed, &mutex);
  int fails = offset + (off_t)size > fail_at;
  pthread_mutex_unlock(&mutex);
  if (fails) return -EIO;
  ssize_t count = pread((int)info->fh, buffer, size, offset);
  if (count < 0) return -errno;
  send_over_link(path, (size_t)count);
  return (int)count;
}

static int origin_write(const char* path, const char* bytes, size_t size, off_t offset,
                        struct fuse_file_info* info) {
  if (!own_file(path)) {
    be_asked(path);
    ssize_t count = pwrite((int)info->fh, bytes, size, offset);
    return count < 0 ? -errno : (int)count;
  }
  char command[64] = "";
  memcpy(command, bytes, size < sizeof command ? size : sizeof command - 1);
  char word[16] = "";
  long long number = 0;
  sscanf(command, "%15s %lld", word, &number);
  pthread_mutex_lock(&mutex);
  if (strcmp(word, "rate") == 0) rate = (double)number;
  if (strcmp(word, "delay") == 0) delay_us = number;
  if (strcmp(word, "reset") == 0) {
    ++resets;
    for (int i = 0; i < kAccountFiles; ++i)
      memset(kAccounts[i].accounts, 0, kFiles * sizeof(struct account));
  }
  if (strcmp(word, "fail") == 0) fail_at = number;
  if (strcmp(word, "hang") == 0) hang_at = number;
  if (strcmp(word, "release") == 0) fail_at = hang_at = kNever;
  if (strcmp(word, "blocks") == 0) tells_blocks = (int)number;
  if (strcmp(word, "age") == 0) age = (time_t)number;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return (int)size;
}

static int origin_truncate(const char* path, off_t size, struct fuse_file_info* info) {
  if (own_file(path)) return 0;
  int fd = info != NULL ? (int)info->fh : openat(root, below(path), O_WRONLY | O_NOFOLLOW);
  int code = fd < 0 || ftruncate(fd, size) != 0 ? -errno : 0;
  if (info == NULL && fd >= 0) close(fd);
  return code;
}

static int origin_rename(const char* from, const char* to, unsigned flags) {
  if (flags != 0) return -EINVAL;
  return renameat(root, below(from), root, below(to)) == 0 ? 0 : -errno;
}

static int origin_release(const char* path, struct fuse_file_info* info) {
  if (own_file(path)) return 0;
  be_asked(path);
  close((int)info->fh);
  return 0;
}

static void* origin_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  config->use_ino = 1;
  config->auto_cache = direct ? 0 : 1;
  config->attr_timeout = 0;
  config->entry_timeout = 0;
  config->negative_timeout = 0;
  config->nullpath_ok = 0;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: slow_origin DIRECTORY MOUNTPOINT RATE cached|direct\n");
    return 2;
  }
  fail_at = hang_at = kNever;
  rate = atof(argv[3]);
  direct = strcmp(argv[4], "direct") == 0;
  root = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    perror(argv[1]);
    return 1;
  }
  static const struct fuse_operations operations = {
      .getattr = origin_getattr,
      .readdir = origin_readdir,
      .open = origin_open,
      .create = origin_create,
      .read = origin_read,
      .write = origin_write,
      .truncate = origin_truncate,
      .rename = origin_rename,
      .release = origin_release,
      .init = origin_init,
  };
  char* words[] = {
      argv[0], argv[2],          "-f", "-o", "default_permissions,fsname=slow_origin",
      "-o",    "max_threads=64", NULL};
  return fuse_main((int)(sizeof words / sizeof *words) - 1, words, &operations, NULL);
}
