// Writes the directory of one rank's view: the files `view` and `tally` of bodhi/view.h.
//
// The tally's blocks are reserved on the disk, because a rank that marks a frame on a full
// disk would otherwise be killed by SIGBUS.
#pragma once
#include <string>
#include <vector>

#include "bodhi/frame_set.h"
#include "bodhi/listing.h"
#include "bodhi/result.h"
#include "bodhi/view.h"
#include "coord/job_identity.h"

namespace zazen {

struct ViewDatasetContent {
  std::string path;
  std::string frames;  // the template
  std::uint64_t frame_directory_ino = 0;
  bool entry_is_directory = false;
  std::uint64_t domain_count = 0;
  std::vector<FrameRun> domain;
  std::vector<ViewFrame> own;       // ascending
  std::vector<OrdinaryName> names;  // ascending
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
