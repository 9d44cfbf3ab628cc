// Writes the directory of one rank's view: the files `view` and `tally` of bodhi/view.h.
//
// The own frames go to the file as they are found: their array would be larger than all else
// that a rank has in its hands at the start of a job.
//
// The tally's blocks are reserved on the disk, because a rank that marks a frame on a full
// disk would otherwise be killed by SIGBUS.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bodhi/frame_set.h"
#include "bodhi/listing.h"
#include "bodhi/result.h"
#include "bodhi/view.h"
#include "coord/job_identity.h"

namespace zazen {

// Where a dataset's own frames are put, ascending.
class ViewFrames {
 public:
  explicit ViewFrames(int fd) : fd_(fd), waiting_(kAtOnce) {}

  void add(const ViewFrame& frame) {
    waiting_[used_++] = frame;
    if (used_ == kAtOnce) flush();
  }
  // 0, or the errno of why not all could be written.
  int flush();
  std::uint64_t count() const { return written_ + used_; }

 private:
  static constexpr std::size_t kAtOnce = 4096;  // 64 KB stay in the processor's cache
  int fd_;
  std::vector<ViewFrame> waiting_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  int code_ = 0;
};

struct ViewDatasetContent {
  std::string path;
  std::string frames;  // the template
  std::uint64_t frame_directory_ino = 0;
  bool entry_is_directory = false;
  std::uint64_t domain_count = 0;
  std::vector<FrameRun> domain;
  std::uint64_t own_count = 0;
  std::function<void(ViewFrames&)> own;  // puts them there
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

// A new private directory below the first of these that can be written to.
Result<std::string> make_view_directory(const std::vector<std::string>& candidates);

Status write_view(const std::string& directory, const ViewContent& content);

void remove_view_directory(const std::string& directory);

}  // namespace zazen
