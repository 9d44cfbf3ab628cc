// PackedListing: a listing in the form in which it is kept and sent, used without unpacking.
//
// Every rank of a job reads a listing of perhaps a million frames and needs only the inode
// numbers of its own frames. So the inode numbers are not unpacked, and those of a kept listing
// stay in its file until they are needed. The frames are strided runs. The inode numbers are an
// array of four bytes each (eight, if they are far apart). A checksum covers everything: a
// listing that was damaged on disk would otherwise lose frames without a warning.
//
// The file is read, not mapped: a failing disk would end the program with SIGBUS.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bodhi/lean/system/raw_call.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/node/listing.h"

namespace zazen {

// Whether the checksum is verified, or trusted. One rank of a node verifies it.
enum class ListingCheck { kWhole, kTrusting };

// The form of the inode numbers.
enum class InodeForm : std::uint32_t { kRuns = 0, kNarrow = 4, kWide = 8 };

struct InodeRun {  // first, first + stride, ..., count of them, modulo 2^64
  std::uint64_t first;
  std::uint64_t stride;
  std::uint64_t count;
};

class PackedListing {
 public:
  // Refuses bytes that are damaged or malformed.
  static Result<PackedListing> read(std::string bytes);

  const DirectoryIdentity& directory() const { return directory_; }
  std::int64_t taken_at_ns() const { return taken_at_ns_; }
  std::size_t size() const { return size_; }  // frames
  const std::vector<FrameRun>& runs() const { return runs_; }
  const std::vector<OrdinaryName>& others() const { return others_; }

  // The complete listing, as it is sent.
  Result<std::string> bytes() const;
  // The checksum of the complete listing: listings with the same one are the same.
  std::uint64_t checksum() const { return checksum_; }

 private:
  friend class InodeWalk;
  friend Result<PackedListing> load_kept_listing(const std::string& path,
                                                 const DirectoryIdentity& current,
                                                 ListingCheck check);
  // Where the bytes are: in memory, or in a file.
  struct Source {
    std::string bytes;
    std::shared_ptr<const RawFd> file;
    std::uint64_t size = 0;
    bool copy(std::uint64_t from, void* out, std::size_t count) const;
  };
  static Result<PackedListing> parse(Source source);
  bool is_whole() const;  // verifies the checksum

  Source source_;
  DirectoryIdentity directory_;
  std::int64_t taken_at_ns_ = 0;
  std::size_t size_ = 0;
  std::vector<FrameRun> runs_;
  InodeForm inode_form_ = InodeForm::kRuns;
  std::vector<InodeRun> inode_runs_;
  std::uint64_t inodes_at_ = 0;   // of an array
  std::uint64_t inode_base_ = 0;  // of a narrow one
  std::vector<OrdinaryName> others_;
  std::uint64_t checksum_ = 0;
};

// The inode numbers of a listing's frames, asked for by ascending positions.
class InodeWalk {
 public:
  explicit InodeWalk(const PackedListing& listing);

  std::uint64_t at(std::size_t position) {
    if (position - first_ >= count_) move_to(position);
    const std::size_t i = position - first_;
    switch (listing_.inode_form_) {
      case InodeForm::kRuns:
        return run_.first + i * run_.stride;
      case InodeForm::kNarrow:
        return listing_.inode_base_ + narrow_[i];
      case InodeForm::kWide:
        break;
    }
    return wide_[i];
  }
  // The numbers at position, position + step, ...: how many of them lie as far from each other
  // as the first two, `count` at most.
  struct Stretch {
    std::uint64_t first;
    std::uint64_t step;  // of no meaning for one
    std::uint64_t count;
  };
  Stretch stretch(std::size_t position, std::uint64_t step, std::uint64_t count) {
    const std::uint64_t first = at(position);
    if (count == 1 || listing_.inode_form_ != InodeForm::kRuns) return {first, 0, 1};
    const std::uint64_t here = 1 + (first_ + count_ - 1 - position) / step;
    return {first, run_.stride * step, std::min(count, here)};
  }
  // False if the file could not be read; what at() said then means nothing.
  bool ok() const { return ok_; }

 private:
  void move_to(std::size_t position);

  const PackedListing& listing_;
  std::size_t first_ = 0;  // at hand are the numbers from here on, this many
  std::size_t count_ = 0;
  InodeRun run_ = {};
  std::size_t next_run_ = 0;
  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
  bool ok_ = true;
};

// The listing that a daemon keeps for a dataset, if it is that of this very directory.
// ENOENT if there is none, ESTALE if it is of another state. By raw system calls.
Result<PackedListing> load_kept_listing(const std::string& path,
                                        const DirectoryIdentity& current, ListingCheck check);

}  // namespace zazen
