#include "tests/fault/disk_recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace zazen::disk_recorder {
namespace {

using Type = DiskChange::Type;

struct Recording {
  std::mutex mutex;
  bool active = false;
  dev_t dev = 0;
  std::map<ino_t, int> inodes;
  Record record;

  // The node of an open descriptor, kNone if it is none of the recorded directory.
  int node_of(int fd) const {
    struct stat st = {};
    if (!active || fd < 0 || ::fstat(fd, &st) != 0 || st.st_dev != dev) return FileTree::kNone;
    auto it = inodes.find(st.st_ino);
    return it == inodes.end() ? FileTree::kNone : it->second;
  }

  // The directory that holds the last component of `path`, and that component.
  std::pair<int, std::string> locate(int directory_fd, std::string path) const {
    int directory = node_of(directory_fd);
    for (std::size_t slash; directory >= 0 && (slash = path.find('/')) != std::string::npos;) {
      directory = record.after.find(directory, path.substr(0, slash));
      path.erase(0, slash + 1);
    }
    return {directory, std::move(path)};
  }

  void add(DiskChange change) {
    apply(change, record.after);
    record.changes.push_back(std::move(change));
  }

  int new_node(ino_t inode) {
    int number = static_cast<int>(record.after.nodes.size());
    inodes[inode] = number;
    return number;
  }
};

Recording& recording() {
  static Recording the;
  return the;
}

bool flushes_are_skipped = false;

// A call that succeeded in a way that the record has no form for.
[[noreturn]] void unknown(const char* what) {
  std::fprintf(stderr, "disk_recorder: %s cannot be recorded\n", what);
  std::abort();
}

}  // namespace

void begin(const std::string& directory) {
  Recording& the = recording();
  std::lock_guard lock(the.mutex);
  struct stat st = {};
  if (::stat(directory.c_str(), &st) != 0) unknown("the directory");
  the.dev = st.st_dev;
  the.record = {};
  the.record.before = read_tree(directory, &the.inodes);
  the.record.after = the.record.before;
  the.active = true;
}

void note(const Word& word) {
  Recording& the = recording();
  std::lock_guard lock(the.mutex);
  DiskChange change{Type::kWord};
  change.word = word;
  if (the.active) the.add(std::move(change));
}

Record end() {
  Recording& the = recording();
  std::lock_guard lock(the.mutex);
  the.active = false;
  return std::move(the.record);
}

void skip_flushes(bool skip) {
  flushes_are_skipped = skip;
}

}  // namespace zazen::disk_recorder

using zazen::DiskChange;
using zazen::FileTree;
using Type = DiskChange::Type;
namespace recorder = zazen::disk_recorder;

// write_identity() is wrapped as a whole, by its mangled name: it is a raw system call, and its
// value depends on the inode number.
#define WRITE_IDENTITY(prefix) prefix##_ZN5zazen14write_identityEiRKNS_14OriginIdentityE

extern "C" {
int __real_openat(int, const char*, int, ...);
ssize_t __real_write(int, const void*, size_t);
ssize_t __real_pwrite(int, const void*, size_t, off_t);
int __real_ftruncate(int, off_t);
int __real_linkat(int, const char*, int, const char*, int);
int __real_unlinkat(int, const char*, int);
int __real_renameat(int, const char*, int, const char*);
int __real_mkdirat(int, const char*, mode_t);
int __real_fchmod(int, mode_t);
int __real_fdatasync(int);
int __real_fsync(int);
int __real_syncfs(int);
int WRITE_IDENTITY(__real_)(int, const zazen::OriginIdentity&);

int __wrap_openat(int directory_fd, const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  auto [directory, name] = the.locate(directory_fd, path);
  int fd = __real_openat(directory_fd, path, flags, mode);
  if (fd < 0 || directory < 0) return fd;
  struct stat st = {};
  ::fstat(fd, &st);
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    DiskChange made{Type::kMakeUnnamed, the.new_node(st.st_ino)};
    made.mode = st.st_mode & 07777;
    the.add(std::move(made));
  } else if (int old = the.record.after.find(directory, name); old >= 0) {
    if ((flags & O_TRUNC) != 0) the.add(DiskChange{Type::kResize, old});
  } else if ((flags & O_CREAT) != 0) {
    DiskChange made{Type::kMake, the.new_node(st.st_ino), directory, name};
    made.mode = st.st_mode & 07777;
    the.add(std::move(made));
  }
  return fd;
}

ssize_t __wrap_pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  ssize_t put = __real_pwrite(fd, bytes, size, offset);
  if (int node = the.node_of(fd); put > 0 && node >= 0) {
    DiskChange change{Type::kWrite, node};
    change.offset = static_cast<std::uint64_t>(offset);
    change.bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(put));
    the.add(std::move(change));
  }
  return put;
}

ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  int node = the.node_of(fd);
  off_t offset = node >= 0 ? ::lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t put = __real_write(fd, bytes, size);
  if (put > 0 && node >= 0) {
    DiskChange change{Type::kWrite, node};
    change.offset = static_cast<std::uint64_t>(offset);
    change.bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(put));
    the.add(std::move(change));
  }
  return put;
}

int __wrap_ftruncate(int fd, off_t size) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  int result = __real_ftruncate(fd, size);
  if (int node = the.node_of(fd); result == 0 && node >= 0) {
    DiskChange change{Type::kResize, node};
    change.offset = static_cast<std::uint64_t>(size);
    the.add(std::move(change));
  }
  return result;
}

int __wrap_linkat(int old_fd, const char* old_path, int new_fd, const char* new_path,
                  int flags) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  auto [directory, name] = the.locate(new_fd, new_path);
  int result = __real_linkat(old_fd, old_path, new_fd, new_path, flags);
  if (result != 0 || directory < 0) return result;
  struct stat st = {};
  ::fstatat(new_fd, new_path, &st, AT_SYMLINK_NOFOLLOW);
  auto node = the.inodes.find(st.st_ino);
  if (node == the.inodes.end()) recorder::unknown("a link to a file from elsewhere");
  the.add(DiskChange{Type::kLink, node->second, directory, name});
  return result;
}

int __wrap_unlinkat(int directory_fd, const char* path, int flags) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  auto [directory, name] = the.locate(directory_fd, path);
  int result = __real_unlinkat(directory_fd, path, flags);
  if (result == 0 && directory >= 0) {
    int node = the.record.after.find(directory, name);
    the.add(DiskChange{Type::kUnlink, node, directory, name});
  }
  return result;
}

int __wrap_renameat(int old_fd, const char* old_path, int new_fd, const char* new_path) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  auto [old_directory, old_name] = the.locate(old_fd, old_path);
  auto [directory, name] = the.locate(new_fd, new_path);
  int result = __real_renameat(old_fd, old_path, new_fd, new_path);
  if (result != 0 || (directory < 0 && old_directory < 0)) return result;
  if (directory < 0 || old_directory < 0)
    recorder::unknown("a rename into or out of the cache");
  int node = the.record.after.find(old_directory, old_name);
  the.add(DiskChange{Type::kRename, node, directory, name, old_directory, old_name});
  return result;
}

int __wrap_mkdirat(int directory_fd, const char* path, mode_t mode) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  auto [directory, name] = the.locate(directory_fd, path);
  int result = __real_mkdirat(directory_fd, path, mode);
  if (result != 0 || directory < 0) return result;
  struct stat st = {};
  ::fstatat(directory_fd, path, &st, AT_SYMLINK_NOFOLLOW);
  DiskChange made{Type::kMakeDirectory, the.new_node(st.st_ino), directory, name};
  made.mode = mode;
  the.add(std::move(made));
  return result;
}

int __wrap_fchmod(int fd, mode_t mode) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  int result = __real_fchmod(fd, mode);
  if (int node = the.node_of(fd); result == 0 && node >= 0) {
    DiskChange change{Type::kSetMode, node};
    change.mode = mode;
    the.add(std::move(change));
  }
  return result;
}

int WRITE_IDENTITY(__wrap_)(int fd, const zazen::OriginIdentity& identity) {
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  int result = WRITE_IDENTITY(__real_)(fd, identity);
  if (int node = the.node_of(fd); result == 0 && node >= 0) {
    DiskChange change{Type::kSetIdentity, node};
    change.identity = identity;
    the.add(std::move(change));
  }
  return result;
}

static int flush(int fd, Type type, int (*real)(int)) {
  if (recorder::flushes_are_skipped) return 0;
  recorder::Recording& the = recorder::recording();
  std::lock_guard lock(the.mutex);
  int node = the.node_of(fd);
  int result = real(fd);
  if (result == 0 && node >= 0) the.add(DiskChange{type, node});
  return result;
}

int __wrap_fdatasync(int fd) {
  return flush(fd, Type::kFlushData, __real_fdatasync);
}
int __wrap_fsync(int fd) {
  return flush(fd, Type::kFlush, __real_fsync);
}
int __wrap_syncfs(int fd) {
  return flush(fd, Type::kFlushAll, __real_syncfs);
}
}
