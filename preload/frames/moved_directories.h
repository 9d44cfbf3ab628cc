// MovedDirectories: a directory or a link is about to be renamed, and with it a dataset may
// become another one. The datasets' directories are looked at before and after; of each that is
// another one then, the daemon is asked to compare a sample of the copies with the origin,
// which puts the dataset on per-open checking for everybody (D10).
#pragma once
#include "preload/process/node.h"

namespace zazen {

// The name is a directory's or a symbolic link's. Costs one lstat; false if the shim sleeps.
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
