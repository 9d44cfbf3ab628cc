/* A disk with one head, as a file: "disk" is the backing file, read through a lock; a read that
 * does not begin where the last one ended takes a seek, and each takes its time at the
 * platter's rate. "seeks" tells how many seeks there were; what is written to "seek_us" is what
 * one takes from then on. Writes go to the disk's buffer: they cost nothing. A loop device on
 * "disk" is a block device that behaves so.
 *
 *   seek_disk BACKING SEEK_US BYTES_PER_US -f MOUNTPOINT
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int backing;
static long seek_us, bytes_per_us, seeks;
static off_t head;
static pthread_mutex_t arm = PTHREAD_MUTEX_INITIALIZER;

static int is_disk(const char* path) {
  return strcmp(path, "/disk") == 0;
}

static int disk_getattr(const char* path, struct stat* st, struct fuse_file_info* info) {
  (void)info;
  memset(st, 0, sizeof *st);
  st->st_nlink = 1;
  if (strcmp(path, "/") == 0) {
    st->st_mode = S_IFDIR | 0700;
    return 0;
  }
  st->st_mode = S_IFREG | 0600;
  if (!is_disk(path)) {
    if (strcmp(path, "/seeks") != 0 && strcmp(path, "/seek_us") != 0) return -ENOENT;
    st->st_size = 32;
    return 0;
  }
  struct stat real;
  if (fstat(backing, &real) != 0) return -errno;
  st->st_size = real.st_size;
  st->st_blocks = real.st_blocks;
  return 0;
}

static int disk_open(const char* path, struct fuse_file_info* info) {
  (void)path;
  info->direct_io = 1;
  return 0;
}

static int disk_read(const char* path, char* buffer, size_t size, off_t offset,
                     struct fuse_file_info* info) {
  (void)info;
  if (!is_disk(path)) {
    char text[33];
    snprintf(text, sizeof text, "%-31ld\n", seeks);
    if (offset >= 32) return 0;
    if (size > 32 - (size_t)offset) size = 32 - (size_t)offset;
    memcpy(buffer, text + offset, size);
    return (int)size;
  }
  pthread_mutex_lock(&arm);
  long time_us = (long)size / bytes_per_us;
  if (offset != head) {
    ++seeks;
    time_us += seek_us;
  }
  if (time_us > 0) usleep((useconds_t)time_us);
  ssize_t got = pread(backing, buffer, size, offset);
  head = offset + (off_t)size;
  pthread_mutex_unlock(&arm);
  return got < 0 ? -errno : (int)got;
}

static int disk_write(const char* path, const char* buffer, size_t size, off_t offset,
                      struct fuse_file_info* info) {
  (void)info;
  if (strcmp(path, "/seek_us") == 0) {
    char text[32] = {0};
    memcpy(text, buffer, size < sizeof text ? size : sizeof text - 1);
    seek_us = atol(text);
    return (int)size;
  }
  if (!is_disk(path)) return -EACCES;
  ssize_t put = pwrite(backing, buffer, size, offset);
  return put < 0 ? -errno : (int)put;
}

static int disk_truncate(const char* path, off_t size, struct fuse_file_info* info) {
  (void)size, (void)info;
  return strcmp(path, "/seek_us") == 0 ? 0 : -EACCES;
}

static int disk_fsync(const char* path, int only_data, struct fuse_file_info* info) {
  (void)path, (void)only_data, (void)info;
  return 0;
}

static const struct fuse_operations kOperations = {.getattr = disk_getattr,
                                                   .open = disk_open,
                                                   .read = disk_read,
                                                   .write = disk_write,
                                                   .truncate = disk_truncate,
                                                   .fsync = disk_fsync};

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  backing = open(argv[1], O_RDWR | O_CLOEXEC);
  seek_us = atol(argv[2]);
  bytes_per_us = atol(argv[3]);
  if (backing < 0 || bytes_per_us <= 0) return 1;
  argv[3] = argv[0];
  return fuse_main(argc - 3, argv + 3, &kOperations, NULL);
}
