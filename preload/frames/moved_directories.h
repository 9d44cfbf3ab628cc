// MovedDirectories: surrounds the renaming of a directory or a link, which may replace a
// dataset's directory. It looks up the datasets' directories before and after. For each dataset
// whose directory has changed, it asks the daemon to compare a sample of the copies with the
// origin. A stale copy then makes all programs check each open of the dataset (D10).
#pragma once
#include "preload/process/node.h"

namespace zazen {

// The path names a directory or a symbolic link. Costs one lstat; false if the shim is
// inactive.
bool leads_to_directory(int dirfd, const char* path);

class MovedDirectories {
 public:
  MovedDirectories();
  void tell() const;

 private:
  const Node* node_;
  DirectoryKey before_[kMaxDatasets];
};

}  // namespace zazen
