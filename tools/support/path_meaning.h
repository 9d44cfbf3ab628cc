// PathMeaning: how the shim classifies a path, and by which rule.
//
// The rules are those of preload/frames/route.h. The end of the path must match a template. The
// directory before it must be the dataset's frame directory, by device and inode. It uses raw
// system calls, because zazenctl may itself run behind the shim.
#pragma once
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "bodhi/lean/frames/view.h"

namespace zazen {

// A dataset that the shim knows, from the daemon's table or from a rank's view. If no daemon
// serves, a dataset of the configuration.
struct KnownDataset {
  std::string path;
  std::string frames;
  FrameName name;
  const TableDataset* published = nullptr;  // null: no daemon serves it
  const ViewDataset* seen = nullptr;        // null: the view does not cover it
};

struct PathMeaning {
  enum Kind { kFrame, kFrameDirectory, kDatasetDirectory, kOther };
  Kind kind = kOther;
  const KnownDataset* dataset = nullptr;  // null for kOther, unless it lies in the directory
  FrameSeq seq = 0;
  std::string rule;
};

PathMeaning meaning_of(const std::vector<KnownDataset>& datasets, const std::string& path);

}  // namespace zazen
