// Assignment: the frames of a plain range that this rank should read. The ranks agree on it
// without a listing and without a view (the C API's zazen()).
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/frames/table.h"
#include "coord/ranks/communicator.h"
#include "coord/sets/domain.h"
#include "coord/sets/packed_set.h"
#include "coord/settings.h"

namespace zazen {

struct AssignmentRequest {
  const Table* table = nullptr;  // of this node's daemon; null: the node holds nothing
  std::string runtime;
  std::string dataset;
  FrameSeq begin = 0;
  FrameSeq end = 0;
  std::uint64_t stride = 1;
};

class Assignment {
 public:
  // Collective. If it fails on one rank it fails on all.
  static Result<Assignment> agree(Communicator& world, const AssignmentRequest& request,
                                  const Settings& settings);

  std::size_t count() const { return own_.count(); }
  // Ascending; false after the last.
  bool next(FrameSeq* seq);
  void rewind();

 private:
  Assignment(Domain domain, PackedSet own) : domain_(std::move(domain)), own_(std::move(own)) {
    frames_.reserve(std::min(own_.count(), kChunkFrames));  // next() must not allocate
  }

  Domain domain_;
  PackedSet own_;
  std::size_t chunk_ = 0;         // the next to be unpacked
  std::vector<FrameSeq> frames_;  // of the current chunk
  std::size_t position_ = 0;      // in frames_
};

}  // namespace zazen
