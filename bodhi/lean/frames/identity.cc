// The attribute is read and written by raw system calls, because the shim hides it from the
// program's own getxattr and listxattr.
#include "bodhi/lean/frames/identity.h"

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

struct timespec to_timespec(std::int64_t ns) {
  struct timespec time;
  time.tv_sec = ns / kNanoseconds;
  time.tv_nsec = ns % kNanoseconds;
  if (time.tv_nsec < 0) {  // before 1970
    time.tv_sec -= 1;
    time.tv_nsec += kNanoseconds;
  }
  return time;
}

std::uint16_t mark_of(const struct stat& copy, const OriginIdentity& identity) {
  OriginIdentity unmarked = identity;
  unmarked.mark = 0;
  std::uint64_t words[sizeof unmarked / 8];
  std::memcpy(words, &unmarked, sizeof unmarked);
  std::uint64_t sum = copy.st_ino;
  for (std::uint64_t word : words) sum ^= word;
  return static_cast<std::uint16_t>(sum ^ sum >> 16 ^ sum >> 32 ^ sum >> 48);
}

int check_identity(long size, const OriginIdentity& identity, const struct stat& copy) {
  if (size == -ERANGE) return EINVAL;  // a longer value
  if (size < 0) return static_cast<int>(-size);
  if (size != sizeof identity || identity.version != kIdentityVersion) return EINVAL;
  if (identity.mark != mark_of(copy, identity)) return EINVAL;
  return 0;
}

}  // namespace

OriginIdentity identity_of(const struct stat& origin, FrameKind kind, std::uint64_t checksum) {
  OriginIdentity identity = {};
  identity.version = kIdentityVersion;
  identity.kind = kind;
  identity.mode = static_cast<std::uint16_t>(origin.st_mode);
  identity.uid = origin.st_uid;
  identity.gid = origin.st_gid;
  identity.size = static_cast<std::uint64_t>(origin.st_size);
  identity.ino = origin.st_ino;
  identity.mtime_ns = to_ns(origin.st_mtim);
  identity.ctime_ns = to_ns(origin.st_ctim);
  identity.checksum = checksum;
  identity.links = origin.st_nlink < kMostLinks ? origin.st_nlink : kMostLinks;
  identity.blocks = static_cast<std::uint64_t>(origin.st_blocks) & kMostBlocks;
  return identity;
}

OriginIdentity unknown_identity(std::uint64_t size, std::uint64_t checksum) {
  OriginIdentity identity = {};
  identity.version = kIdentityVersion;
  identity.kind = FrameKind::kNative;
  identity.size = size;
  identity.checksum = checksum;
  return identity;
}

bool same_file(const OriginIdentity& copy, const struct stat& origin) {
  return copy.size == static_cast<std::uint64_t>(origin.st_size) && copy.ino == origin.st_ino &&
         copy.mtime_ns == to_ns(origin.st_mtim) && copy.ctime_ns == to_ns(origin.st_ctim);
}

bool looks_like_copy(const struct stat& local, dev_t cache_dev) {
  return local.st_dev == cache_dev && has_mode_of_copy(local.st_mode);
}

int read_identity(int fd, OriginIdentity* out) {
  struct stat copy;
  if (int code = raw_fstat(fd, &copy); code != 0) return -code;
  long size = raw_call(SYS_fgetxattr, fd, kIdentityAttribute, out, sizeof *out);
  return check_identity(size, *out, copy);
}

int read_identity_at(const char* path, OriginIdentity* out) {
  struct stat copy;
  long code = raw_call(SYS_newfstatat, AT_FDCWD, path, &copy, 0);
  if (code != 0) return static_cast<int>(-code);
  long size = raw_call(SYS_getxattr, path, kIdentityAttribute, out, sizeof *out);
  return check_identity(size, *out, copy);
}

int write_identity(int fd, const OriginIdentity& identity) {
  struct stat copy;
  if (int code = raw_fstat(fd, &copy); code != 0) return -code;
  OriginIdentity marked = identity;
  marked.mark = mark_of(copy, identity);
  return static_cast<int>(
      -raw_call(SYS_fsetxattr, fd, kIdentityAttribute, &marked, sizeof marked, 0));
}

void show_identity(const OriginIdentity& identity, dev_t origin_dev, struct stat* st) {
  st->st_dev = origin_dev;
  st->st_ino = identity.ino;
  st->st_mode = identity.mode;
  st->st_uid = identity.uid;
  st->st_gid = identity.gid;
  st->st_size = static_cast<off_t>(identity.size);
  st->st_mtim = to_timespec(identity.mtime_ns);
  st->st_ctim = to_timespec(identity.ctime_ns);
  if (identity.links == 0 && identity.blocks == 0) return;
  st->st_nlink = identity.links;
  st->st_blocks = static_cast<blkcnt_t>(identity.blocks);
}

}  // namespace zazen
