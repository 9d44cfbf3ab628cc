// slow_origin: a file server for tests, on FUSE. It shows a directory as it is, over a link of
// so many bytes a second, and keeps account of what it sends.
//
//     slow_origin DIRECTORY MOUNTPOINT RATE cached|direct
//
// "cached" lets the kernel keep pages, as NFS does, until a file's size or mtime changes;
// "direct" does not. Three files of its own in the mount point:
//     .sent      a line "BYTES PATH" for each file of which something was sent
//     .requests  a line "COUNT PID" for each process that has asked for something; pid 0 is of
//                requests that the kernel makes for nobody
//     .control   takes one command at a time:
//                  rate BYTES       of the link, 0 for no limit
//                  fail OFFSET      reads from there on fail with EIO
//                  hang OFFSET      reads from there on do not return
//                  release          ends both
//                  blocks 0|1       whether a stat tells the blocks of a file
//                  delay US         microseconds that each request takes
//                  reset            begins both accounts anew
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

enum { kFiles = 256, kName = 256, kPids = 1024 };
static const char kSentFile[] = "/.sent", kControlFile[] = "/.control",
                  kRequestsFile[] = "/.requests";
static const off_t kNever = (off_t)1 << 62;

static int root;
static int direct;
static int tells_blocks = 1;
static long long delay_us;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static double rate, link_free_at;
static off_t fail_at, hang_at;
static struct {
  char name[kName];
  long long bytes;
} sent[kFiles];
static struct {
  int pid;
  long long count;
} requests[kPids];
static int pids;

static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

static int own_file(const char* path) {
  return strcmp(path, kSentFile) == 0 || strcmp(path, kControlFile) == 0 ||
         strcmp(path, kRequestsFile) == 0;
}

// Each request for a file of the directory begins with this.
static void take_request(void) {
  int pid = fuse_get_context()->pid, i = 0;
  pthread_mutex_lock(&mutex);
  while (i < pids && requests[i].pid != pid) ++i;
  if (i == pids && pids < kPids) requests[pids++].pid = pid;
  if (i < pids) ++requests[i].count;
  struct timespec delay = {delay_us / 1000000, delay_us % 1000000 * 1000};
  pthread_mutex_unlock(&mutex);
  if (delay.tv_sec != 0 || delay.tv_nsec != 0) nanosleep(&delay, NULL);
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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
  for (int i = 0; i < kFiles; ++i) {
    if (sent[i].name[0] == '\0') snprintf(sent[i].name, kName, "%s", below(path));
    if (strcmp(sent[i].name, below(path)) == 0) {
      sent[i].bytes += (long long)bytes;
      break;
    }
  }
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
  take_request();
  if (fstatat(root, below(path), st, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!tells_blocks) st->st_blocks = 0;
  return 0;
}

static int origin_readdir(const char* path, void* entries, fuse_fill_dir_t add, off_t offset,
                          struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  take_request();
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
  take_request();
  int fd = openat(root, below(path), (info->flags & ~(O_CREAT | O_EXCL)) | O_NOFOLLOW);
  if (fd < 0) return -errno;
  info->fh = (uint64_t)fd;
  info->direct_io = direct ? 1 : 0;
  return 0;
}

static int origin_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  take_request();
  int fd = openat(root, below(path), info->flags, mode);
  if (fd < 0) return -errno;
  info->fh = (uint64_t)fd;
  return 0;
}

static int read_account(const char* path, char* buffer, size_t size, off_t offset) {
  static const size_t kLargest = kFiles * (kName + 24);
  char* text = malloc(kLargest);
  size_t length = 0;
  pthread_mutex_lock(&mutex);
  if (strcmp(path, kRequestsFile) == 0) {
    for (int i = 0; i < pids; ++i) {
      length += (size_t)snprintf(text + length, kLargest - length, "%lld %d\n",
                                 requests[i].count, requests[i].pid);
    }
  } else {
    for (int i = 0; i < kFiles && sent[i].name[0] != '\0'; ++i) {
      length += (size_t)snprintf(text + length, kLargest - length, "%lld %s\n", sent[i].bytes,
                                 sent[i].name);
    }
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
  if (own_file(path)) return read_account(path, buffer, size, offset);
  take_request();
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
    take_request();
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
  if (strcmp(word, "fail") == 0) fail_at = number;
  if (strcmp(word, "hang") == 0) hang_at = number;
  if (strcmp(word, "release") == 0) fail_at = hang_at = kNever;
  if (strcmp(word, "blocks") == 0) tells_blocks = (int)number;
  if (strcmp(word, "delay") == 0) delay_us = number;
  if (strcmp(word, "reset") == 0) {
    memset(sent, 0, sizeof sent);
    memset(requests, 0, sizeof requests);
    pids = 0;
  }
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
  take_request();
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
  char* words[] = {argv[0], argv[2],           "-f", "-o", "default_permissions,fsname=slow_origin",
                   "-o",    "max_threads=64", NULL};
  return fuse_main((int)(sizeof words / sizeof *words) - 1, words, &operations, NULL);
}
