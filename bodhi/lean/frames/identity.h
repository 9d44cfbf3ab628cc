// OriginIdentity: the origin's stat of a frame at the time of the copy (D9, D10). An extended
// attribute of the copy holds it, so it stays with the file, whichever process opens it.
//
// A copy also has the sticky bit, which other regular files practically never have. So a plain
// stat tells a copy from an unrelated file of the same disk: by the cache's st_dev, the type
// and the sticky bit.
//
// A native that was pushed before the origin had the file has no identity. Its ino is 0, which
// no file has, and only size and checksum are valid (daemon/disk/waiting_natives.h). Lean.
#pragma once
#include <sys/stat.h>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr char kIdentityAttribute[] = "user.zazen";
inline constexpr mode_t kCopyMode = S_ISVTX | S_IRUSR;    // never writable
inline constexpr mode_t kSharedBits = S_IRGRP | S_IROTH;  // of a copy that others may read

struct OriginIdentity {
  std::uint16_t version;
  FrameKind kind;      // tells which log a copy belongs to, if the logs are lost
  std::uint16_t mode;  // st_mode, with the type bits
  std::uint16_t mark;  // of the copy's own inode and of all fields: detects a copy of the copy
                       // and a flipped bit
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t size;
  std::uint64_t ino;
  std::int64_t mtime_ns;  // nanoseconds since the epoch
  std::int64_t ctime_ns;
  std::uint64_t checksum;     // XXH3_64bits of the content
  std::uint64_t links : 16;   // st_nlink
  std::uint64_t blocks : 48;  // st_blocks; both 0: not known
};
static_assert(sizeof(OriginIdentity) == 64);
inline constexpr std::uint16_t kIdentityVersion = 3;
// The kind of a copy that lost its name with its frame. Its link count is final.
inline constexpr FrameKind kLostFrame{0};
inline constexpr std::uint64_t kMostLinks = 0xffff, kMostBlocks = (1ULL << 48) - 1;

constexpr std::int64_t to_ns(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

OriginIdentity identity_of(const struct stat& origin, FrameKind kind, std::uint64_t checksum);

// Of a native that was pushed before the origin had it.
OriginIdentity unknown_identity(std::uint64_t size, std::uint64_t checksum);

// Size, mtime, ctime, ino: is the origin's file still the one that was copied?
bool same_file(const OriginIdentity& copy, const struct stat& origin);

// A copy that is being promoted is writable for a moment.
inline bool has_mode_of_copy(mode_t mode) {
  return (mode & ~(kSharedBits | S_IWUSR)) == (S_IFREG | kCopyMode);
}

// Is this, by its plain stat, a copy in the cache whose st_dev is cache_dev?
bool looks_like_copy(const struct stat& local, dev_t cache_dev);

// 0, or an errno. A value of another size or version, or of another file, is EINVAL.
int read_identity(int fd, OriginIdentity* out);
int read_identity_at(const char* path, OriginIdentity* out);
int write_identity(int fd, const OriginIdentity& identity);

// Replaces the copy's size, mode, owner, ino, links, blocks, mtime and ctime by the origin's.
// st_dev becomes origin_dev, which differs between mounts and is therefore looked up at run
// time.
void show_identity(const OriginIdentity& identity, dev_t origin_dev, struct stat* st);

}  // namespace zazen
