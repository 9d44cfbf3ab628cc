// CacheDisk: the cache's directory on the local disk, and new files in it.
//
// A copy is written to a Temporary that no reader can see, and gets its name only when it is
// whole (D6). A Temporary is an O_TMPFILE that linkat names. Where the file system lacks that,
// it is a name below <cache>/.zazen/tmp that is renamed; the start empties that directory.
// Thread safe.
#pragma once
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

inline constexpr char kCacheStateDirectory[] = ".zazen";

class Temporary {  // removed with its owner, unless published
 public:
  Temporary() = default;
  Temporary(UniqueFd fd, int named_in_fd, std::string name)
      : fd_(std::move(fd)), named_in_fd_(named_in_fd), name_(std::move(name)) {}
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;
  ~Temporary() { discard(); }

  int fd() const { return fd_.get(); }
  // Allocates this much room on the disk, if the file system can do that. 0 or an errno.
  int allocate(std::uint64_t bytes) const;
  // 0, or an errno if flushed data of the file did not reach the disk. It writes only where
  // there is no other way to know.
  int write_failure() const;
  // Reopens the file for reading only; nobody writes to it after that. EBUSY: somebody has it
  // open or mapped for writing, as a lease on it tells. EINVAL: the file system has no leases.
  int seal_content();
  // Gives the file a name, and replaces a file that has it already. 0 or an errno.
  int publish(int directory_fd, const char* leaf);
  void discard();

 private:
  UniqueFd fd_;
  int named_in_fd_ = -1;  // of .zazen/tmp, not owned; -1 if the file has no name
  std::string name_;
};

// True if the disk, or a quota on it, has no more room.
constexpr bool is_out_of_room(int code) {
  return code == ENOSPC || code == EDQUOT;
}

// The room that a file takes and is charged for: its size, or its allocated blocks if it has
// holes.
inline std::uint64_t room_of(const struct stat& file) {
  return std::min(static_cast<std::uint64_t>(file.st_size),
                  static_cast<std::uint64_t>(file.st_blocks) * 512);
}

struct DiskRoom {
  std::uint64_t bytes;
  std::uint64_t files;
  std::uint64_t used_bytes;  // by all files; very many if it cannot be known
  std::uint64_t used_files;
  std::uint64_t disk_bytes = 0;  // of the whole disk; 0 if it cannot be known
};

// Flushes the whole file system of an open directory. The kernel reports each failed write
// since the last call with the same open directory. 0 or an errno.
int sync_disk(int directory);

class CacheDisk {
 public:
  enum class Temporaries { kUnnamedIfPossible, kNamed };

  // Makes the state directory and proves that files can be made here and can carry the
  // identity attribute. The errors are whole sentences.
  static Result<CacheDisk> open(const std::string& cache,
                                Temporaries temporaries = Temporaries::kUnnamedIfPossible);

  int root_fd() const { return root_.get(); }
  int state_fd() const { return state_.get(); }
  dev_t dev() const { return dev_; }

  // Removes temporaries that an earlier daemon left. The caller holds the cache's lock.
  void sweep() const;
  // The same for a directory of state, whose files are written as NAME.new and renamed.
  static void sweep_state(int state_fd);
  // A new, empty, private file that can be published in any directory of the cache.
  // Not valid, with errno, if it fails.
  Temporary make_temporary(int directory_fd) const;
  // The room that the file system has for the cache.
  DiskRoom room() const;
  // Flushes the file system by an open file of its own. The kernel reports a failed write once
  // for each open file, so this sync does not hide one from other threads that must know it. 0
  // or an errno.
  int sync() const;
  // Writes a small file, flushes it and reads it back: 0, also if the disk is full, or an
  // errno.
  int probe() const;

 private:
  CacheDisk() = default;
  UniqueFd root_;
  UniqueFd state_;
  UniqueFd temporaries_;
  dev_t dev_ = 0;
  bool named_ = false;
};

}  // namespace zazen
