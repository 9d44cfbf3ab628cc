// PackedListing: a listing as it is kept and sent, read where it lies.
//
// A million frames are looked at by every rank of a job, and each needs the inode numbers of
// its own frames only: so nothing is unpacked. The frames are strided runs, the inode numbers
// an array of four bytes each (eight, if they are far apart), and the whole has a checksum,
// because a listing that was damaged on disk would lose frames without a word.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bodhi/frame_set.h"
#include "bodhi/listing.h"

namespace zazen {

class PackedListing {
 public:
  // Refuses what is damaged or malformed.
  static Result<PackedListing> read(std::string bytes);

  const DirectoryIdentity& directory() const { return directory_; }
  std::int64_t taken_at_ns() const { return taken_at_ns_; }
  std::size_t size() const { return size_; }  // frames
  const std::vector<FrameRun>& runs() const { return runs_; }
  std::uint64_t inode(std::size_t position) const {
    const char* at = bytes_.data() + inodes_at_ + position * inode_bytes_;
    if (inode_bytes_ == sizeof(std::uint32_t)) return inode_base_ + load<std::uint32_t>(at);
    return load<std::uint64_t>(at);
  }
  const std::vector<OrdinaryName>& others() const { return others_; }

  const std::string& bytes() const { return bytes_; }
  // Of all of it: two listings with the same one are the same.
  std::uint64_t checksum() const { return checksum_; }

 private:
  template <class Number>
  static Number load(const char* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return number;
  }

  std::string bytes_;
  DirectoryIdentity directory_;
  std::int64_t taken_at_ns_ = 0;
  std::size_t size_ = 0;
  std::vector<FrameRun> runs_;
  std::size_t inodes_at_ = 0;
  std::size_t inode_bytes_ = sizeof(std::uint64_t);
  std::uint64_t inode_base_ = 0;
  std::vector<OrdinaryName> others_;
  std::uint64_t checksum_ = 0;
};

// The listing that a daemon keeps for a dataset, if it is that of this very directory.
// ENOENT if there is none, ESTALE if it is of another state. By raw system calls.
Result<PackedListing> load_kept_listing(const std::string& path,
                                        const DirectoryIdentity& current);

}  // namespace zazen
