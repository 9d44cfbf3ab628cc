// Writes the directory of one rank's view: the files `view` and `tally` of
// bodhi/lean/frames/view.h.
//
// The own frames become runs, which go to the file at once. If the frames are irregular, an
// array of them would be the largest allocation of a rank at the start of a job.
//
// The tally's disk blocks are reserved. Otherwise a rank that marks a frame on a full disk
// would be killed by SIGBUS.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/frames/view.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/node/listing.h"
#include "bodhi/node/packed_listing.h"
#include "coord/ranks/job_messages.h"
#include "coord/sets/domain.h"
#include "coord/sets/packed_set.h"

namespace zazen {

// Receives the own frames of one dataset after the other, ascending.
class ViewFrames {
 public:
  explicit ViewFrames(int fd) : fd_(fd), waiting_(kAtOnce) {}

  void add(const ViewFrame& frame) {
    if (length_ > 1 && frame.seq - last_.seq == run_.stride &&
        frame.ino - last_.ino == ino_step_) {
      ++length_;
      last_ = frame;
      return;
    }
    begin_or_widen(frame);
  }
  // Adds `count` frames, with these steps from one to the next.
  void add(ViewFrame frame, std::uint64_t seq_step, std::uint64_t ino_step,
           std::uint64_t count);
  struct Amount {
    std::uint64_t frames, runs;
  };
  Amount end_dataset();
  // 0, or the errno of the first failed write.
  int flush();

 private:
  static constexpr std::size_t kAtOnce = 2048;  // 64 KB, which fit into the processor's cache
  std::uint64_t count() const { return run_.index + length_; }
  void begin_or_widen(const ViewFrame& frame);
  void end_run();
  void write_waiting();

  int fd_;
  std::vector<ViewOwnRun> waiting_;
  std::size_t used_ = 0;
  std::uint64_t runs_ = 0;  // of this dataset
  int code_ = 0;

  ViewOwnRun run_{};  // the current run
  std::uint64_t length_ = 0;
  std::uint64_t ino_step_ = 0;  // run_.ino_stride, widened
  ViewFrame last_{};
};

// Adds the frames with these indexes in the domain of a listing. False if the listing's inode
// numbers cannot be read.
bool add_own_frames(const PackedSet& indexes, const Domain& domain,
                    const PackedListing& listing, ViewFrames* out);

struct ViewDatasetContent {
  std::string path;
  std::string frames;  // the template
  std::uint64_t frame_directory_ino = 0;
  bool entry_is_directory = false;
  std::uint64_t domain_count = 0;
  std::vector<FrameRun> domain;
  std::uint64_t own_count = 0;
  std::function<void(ViewFrames&)> own;  // adds the own frames
  std::vector<OrdinaryName> names;       // ascending
};

struct ViewContent {
  int rank = 0;
  int ranks = 1;
  int nodes = 0;
  std::string node_name;
  JobIdentity job;
  std::vector<ViewDatasetContent> datasets;
};

// Makes a new private directory below the first candidate that is writable.
Result<std::string> make_view_directory(const std::vector<std::string>& candidates);

Status write_view(const std::string& directory, const ViewContent& content);

void remove_view_directory(const std::string& directory);

}  // namespace zazen
