/* A cache's file system for tests, on FUSE: it shows a directory as it is. While there is a
 * file
 * ".slow" in that directory, which the mount point does not show, a flush does not return until
 * it is gone. It runs in the foreground.
 *
 *   moody_disk DIRECTORY MOUNTPOINT
 */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static int root;
static const char kSlow[] = ".slow";

static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

static int done(long result) {
  return result < 0 ? -errno : (int)result;
}

/* Calls that know paths only: by way of the directory's descriptor. */
static const char* absolute(const char* path, char* out, size_t size) {
  snprintf(out, size, "/proc/self/fd/%d/%s", root, below(path));
  return out;
}

static void out_of_mood(void) {
  while (faccessat(root, kSlow, F_OK, 0) == 0) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
}

static int disk_getattr(const char* path, struct stat* st, struct fuse_file_info* info) {
  return done(info ? fstat((int)info->fh, st)
                   : fstatat(root, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int disk_readdir(const char* path, void* entries, fuse_fill_dir_t add, off_t offset,
                        struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  int fd = openat(root, below(path), O_RDONLY | O_DIRECTORY);
  DIR* directory = fd < 0 ? NULL : fdopendir(fd);
  if (directory == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, kSlow) != 0) add(entries, entry->d_name, NULL, 0, 0);
  }
  closedir(directory);
  return 0;
}

static int disk_open(const char* path, struct fuse_file_info* info) {
  int fd = openat(root, below(path), info->flags | O_NOFOLLOW);
  info->fh = (uint64_t)fd;
  return fd < 0 ? -errno : 0;
}

static int disk_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  int fd = openat(root, below(path), info->flags | O_CREAT, mode);
  info->fh = (uint64_t)fd;
  return fd < 0 ? -errno : 0;
}

static int disk_read(const char* path, char* bytes, size_t size, off_t offset,
                     struct fuse_file_info* info) {
  (void)path;
  return done(pread((int)info->fh, bytes, size, offset));
}

static int disk_write(const char* path, const char* bytes, size_t size, off_t offset,
                      struct fuse_file_info* info) {
  (void)path;
  return done(pwrite((int)info->fh, bytes, size, offset));
}

static int disk_fsync(const char* path, int data_only, struct fuse_file_info* info) {
  (void)path, (void)data_only;
  out_of_mood();
  return done(fsync((int)info->fh));
}

static int disk_fsyncdir(const char* path, int data_only, struct fuse_file_info* info) {
  (void)path, (void)data_only, (void)info;
  out_of_mood();
  return 0;
}

static int disk_fallocate(const char* path, int mode, off_t offset, off_t length,
                          struct fuse_file_info* info) {
  (void)path;
  return done(fallocate((int)info->fh, mode, offset, length));
}

static int disk_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  return done(close((int)info->fh));
}

static int disk_truncate(const char* path, off_t size, struct fuse_file_info* info) {
  if (info) return done(ftruncate((int)info->fh, size));
  int fd = openat(root, below(path), O_WRONLY | O_NOFOLLOW);
  int code = fd < 0 ? -errno : done(ftruncate(fd, size));
  if (fd >= 0) close(fd);
  return code;
}

static int disk_chmod(const char* path, mode_t mode, struct fuse_file_info* info) {
  return done(info ? fchmod((int)info->fh, mode) : fchmodat(root, below(path), mode, 0));
}

static int disk_chown(const char* path, uid_t user, gid_t group, struct fuse_file_info* info) {
  (void)info;
  return done(fchownat(root, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int disk_utimens(const char* path, const struct timespec times[2],
                        struct fuse_file_info* info) {
  (void)info;
  return done(utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int disk_mkdir(const char* path, mode_t mode) {
  return done(mkdirat(root, below(path), mode));
}
static int disk_unlink(const char* path) {
  return done(unlinkat(root, below(path), 0));
}
static int disk_rmdir(const char* path) {
  return done(unlinkat(root, below(path), AT_REMOVEDIR));
}
static int disk_rename(const char* from, const char* to, unsigned flags) {
  return done(renameat2(root, below(from), root, below(to), flags));
}
static int disk_link(const char* from, const char* to) {
  return done(linkat(root, below(from), root, below(to), 0));
}

static int disk_statfs(const char* path, struct statvfs* fs) {
  (void)path;
  return done(fstatvfs(root, fs));
}

static int disk_setxattr(const char* path, const char* name, const char* value, size_t size,
                         int flags) {
  char full[4096];
  return done(lsetxattr(absolute(path, full, sizeof full), name, value, size, flags));
}

static int disk_getxattr(const char* path, const char* name, char* value, size_t size) {
  char full[4096];
  return done(lgetxattr(absolute(path, full, sizeof full), name, value, size));
}

static void* disk_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  config->use_ino = 1;
  config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: moody_disk DIRECTORY MOUNTPOINT\n");
    return 2;
  }
  root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    perror(argv[1]);
    return 1;
  }
  static const struct fuse_operations operations = {
      .getattr = disk_getattr,
      .readdir = disk_readdir,
      .open = disk_open,
      .create = disk_create,
      .read = disk_read,
      .write = disk_write,
      .fsync = disk_fsync,
      .fsyncdir = disk_fsyncdir,
      .fallocate = disk_fallocate,
      .release = disk_release,
      .truncate = disk_truncate,
      .chmod = disk_chmod,
      .chown = disk_chown,
      .utimens = disk_utimens,
      .mkdir = disk_mkdir,
      .unlink = disk_unlink,
      .rmdir = disk_rmdir,
      .rename = disk_rename,
      .link = disk_link,
      .statfs = disk_statfs,
      .setxattr = disk_setxattr,
      .getxattr = disk_getxattr,
      .init = disk_init,
  };
  char* words[] = {argv[0], argv[2], "-f", "-o", "default_permissions,fsname=moody_disk", NULL};
  return fuse_main((int)(sizeof words / sizeof *words) - 1, words, &operations, NULL);
}
