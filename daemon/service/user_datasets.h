// UserDatasets: the datasets that users have added by `zazenctl add`, in a TOML file beside the
// copies. A change replaces the file at once and flushes it, so a dataset that a user was told
// of outlives a crash.
//
// The fields come from users: zazend checks them before (Reload). Not thread safe: the thread
// that reloads owns it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "bodhi/config/config.h"

namespace zazen {

class UserDatasets {
 public:
  static constexpr char kFile[] = "user-datasets.toml";
  static constexpr std::size_t kMostOfUser = 16;   // while a daemon lives, also if taken away
  static constexpr std::size_t kMost = 128;        // of all users
  static constexpr std::size_t kMostChanges = 60;  // of a user in a minute

  // A file that cannot be read is kept under another name, and the log says so. `directory_fd`
  // is that of the cache's own state, and stays open.
  explicit UserDatasets(int directory_fd);

  const std::vector<DatasetConfig>& all() const { return datasets_; }
  const DatasetConfig* find(const std::string& path) const;
  // These two: 0 or an errno; then nothing has changed.
  int add(const DatasetConfig& dataset);
  int remove(const std::string& path);

 private:
  int write(const std::vector<DatasetConfig>& datasets) const;

  int directory_fd_;
  std::vector<DatasetConfig> datasets_;
};

}  // namespace zazen
