// Listing: the content of a dataset's frame directory, taken once and shared (D20).
//
// It is keyed by the directory's inode, mtime and ctime, and by the template. A listing that
// was taken within two seconds of the directory's mtime may have missed a change in the same
// clock tick and is good for the job that took it only: settled() is false. Kept and sent, it
// is packed (bodhi/node/packed_listing.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

struct DirectoryIdentity {
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t names = 0;  // a mark of the template: by another one, other names are frames
  bool operator==(const DirectoryIdentity&) const = default;
};

// A listing that was taken then has missed nothing.
bool is_settled(const DirectoryIdentity& directory, std::int64_t taken_at_ns);

struct OrdinaryName {
  std::string name;
  std::uint64_t ino = 0;
  std::uint8_t type = 0;  // DT_*
  bool operator==(const OrdinaryName&) const = default;
};

struct Listing {
  DirectoryIdentity directory;
  std::int64_t taken_at_ns = 0;       // wall clock, before the first entry was read
  std::vector<FrameSeq> frames;       // ascending
  std::vector<std::uint64_t> inodes;  // of frames, same order
  std::vector<OrdinaryName> others;   // ascending; "." and ".." among them

  bool settled() const { return is_settled(directory, taken_at_ns); }
  bool operator==(const Listing&) const = default;
};

// <dataset>/<template's directory part>
std::string frame_directory(const std::string& dataset, const FrameName& name);

// One stat of the directory.
Result<DirectoryIdentity> stat_directory(const std::string& directory, const FrameName& name);
// Reads it by raw system calls: the shim's hooks must not see it. Frames are the entries
// that match and that are, or may be (a link, an unknown type), what the template wants: a
// plain file, or a directory for "{seq}/traj.dcd". If the directory's identity changes while it
// is read, it is read again (three times at most; then it is returned as not settled).
Result<Listing> list_directory(const std::string& directory, const FrameName& name);

std::string encode_listing(const Listing& listing);
// Refuses what PackedListing::read() refuses, and what has more than limit frames.
Result<Listing> decode_listing(std::string_view bytes, std::uint64_t limit = 1ULL << 28);

}  // namespace zazen
