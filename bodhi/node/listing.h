// Listing: the content of a dataset's frame directory, read once and shared (D20).
//
// Its key is the directory's inode, mtime and ctime, and the template. A listing that was taken
// within two seconds of the directory's mtime may have missed a change in the same clock tick.
// Then is_settled() is false, and only the job that took the listing uses it.
// bodhi/node/packed_listing.h has the form in which listings are kept and sent.
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
  std::uint64_t names = 0;  // a hash of the template, which decides what is a frame
  bool operator==(const DirectoryIdentity&) const = default;
};

// True: a listing that was taken at this time has missed no change.
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
// Reads by raw system calls, which the shim's hooks do not see. Frames are the entries that
// match and have the template's type: a plain file, or a directory for "{seq}/traj.dcd". A link
// or an unknown type counts, too. If the directory's identity changes meanwhile, it is read
// again: three times at most; then the result is returned as not settled.
Result<Listing> list_directory(const std::string& directory, const FrameName& name);

std::string encode_listing(const Listing& listing);
// Refuses bytes that PackedListing::read() refuses, and more than limit frames.
Result<Listing> decode_listing(std::string_view bytes, std::uint64_t limit = 1ULL << 28);

}  // namespace zazen
