// map_table() answers yes or no. The reasons for a no are read from the file afterwards, in the
// order of their likelihood for people.
#include "tools/support/table_state.h"

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

std::string why_not_mapped(const std::string& runtime, const Table* orphan) {
  std::string path = runtime + "/" + kTableFile;
  int result = raw_open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  RawFd file(result);
  if (result == -ENOENT) return "no daemon runs in " + runtime;
  if (result == -EACCES) return runtime + " is another user's";
  if (result < 0) return path + ": " + std::strerror(-result);

  struct stat st;
  if (raw_fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) return path + ": not a file";
  if (st.st_uid != ::geteuid() && st.st_uid != 0) return path + " is another user's";
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) return path + ": others may write to it";
  if (std::uint32_t version = other_table_version(runtime.c_str())) {
    return runtime + ": its zazend is of another version of Zazen (table " +
           std::to_string(version) + ", here " + std::to_string(kTableVersion) + ")";
  }
  if (orphan != nullptr && orphan->state.load() == DaemonState::kStopped) {
    return "no daemon runs in " + runtime;
  }
  return "the daemon of " + runtime + " is dead, or its table is damaged";
}

}  // namespace

TableState::TableState(const std::string& runtime) : table_(map_table(runtime.c_str())) {
  if (table_ == nullptr) {
    bool is_held = false;
    orphan_ = map_table(runtime.c_str(), &is_held);
    reason_ = why_not_mapped(runtime, orphan_);
  } else if (DaemonState state = table_->state.load(); state != DaemonState::kServing) {
    reason_ = state == DaemonState::kStarting   ? "the daemon is starting"
              : state == DaemonState::kOutOfUse ? "the cache's disk fails; it is out of use"
                                                : "the daemon stopped";
  } else if (!daemon_is_alive(*table_, monotonic_ms())) {
    reason_ = "the daemon hangs: no heartbeat for more than " +
              std::to_string(kHeartbeatStaleMs / 1000) + " s";
  }
}

bool TableState::tells_of(const std::string& dataset) const {
  const Table* table = table_ != nullptr ? table_ : orphan_;
  for (std::uint32_t i = 0; table != nullptr && i < table->dataset_count; ++i) {
    if (table->datasets[i].path == dataset) return true;
  }
  return false;
}

}  // namespace zazen
