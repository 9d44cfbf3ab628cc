#include "tools/commands/push_peer.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "tools/support/node.h"
#include "tools/support/past_the_shim.h"
#include "tools/support/target.h"

namespace zazen {
namespace {

constexpr int kAnswerTimeoutMs = 5'000;

// The table's entry for the dataset, or null.
const TableDataset* find_dataset(const Table& table, const std::string& path) {
  for (std::uint32_t i = 0; i < table.dataset_count; ++i) {
    const TableDataset& entry = table.datasets[i];
    if (path == entry.path && entry.removed == 0) return &entry;
  }
  return nullptr;
}

bool copy_is_current(const Table& table, const TableDataset& entry, const std::string& name,
                     int directory_fd) {
  struct stat origin;
  if (past_the_shim(SYS_newfstatat, directory_fd, name.c_str(), &origin, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return true;  // nothing to compare with
  }
  char path[4096];
  OriginIdentity identity;
  if (copy_path(table, entry, name.c_str(), path, sizeof path) == 0) return true;
  return read_identity_at(path, &identity) != 0 || same_file(identity, origin);
}

}  // namespace

PushPeer::PushPeer(std::string name, std::shared_ptr<KeyRing> keys)
    : name_(std::move(name)), keys_(std::move(keys)) {
  constexpr std::string_view kPrefix = "unix:";
  if (name_.starts_with(kPrefix)) runtime_ = name_.substr(kPrefix.size());
}

Status PushPeer::open(const DatasetConfig& dataset, int timeout_ms) {
  reachable = takes_frames_ = false;
  Result<std::unique_ptr<NodeLink>> link =
      NodeLink::connect(name_, *keys_->credentials(), timeout_ms);
  if (!link) return link.error();
  Result<FrameSet> natives = (*link)->natives(dataset.path);
  if (!natives) {
    reachable = !is_silence(natives.error());
    return natives.error();
  }
  natives_ = std::move(*natives);
  reachable = takes_frames_ = true;
  return Done{};
}

std::size_t PushPeer::drop_stale(const DatasetConfig& dataset, int directory_fd, bool dry_run) {
  if (!is_local()) return 0;
  const Table* table = map_table(runtime_.c_str());
  const TableDataset* entry = table ? find_dataset(*table, dataset.path) : nullptr;
  std::vector<std::vector<FrameSeq>> runs;  // stale ones without a current one between them
  bool extend = false;
  for (FrameSeq seq : natives_.frames()) {
    bool stale = entry != nullptr &&
                 !copy_is_current(*table, *entry, frame_name(dataset, seq), directory_fd);
    if (stale && !extend) runs.emplace_back();
    if (stale) runs.back().push_back(seq);
    extend = stale;
  }
  if (table != nullptr) unmap_table(table);

  if (runs.empty()) return 0;
  Result<Client> client = Client::connect(runtime_, kAnswerTimeoutMs);
  if (!client) return 0;
  std::vector<FrameSeq> dropped;
  for (const std::vector<FrameSeq>& run : runs) {
    if (dry_run || client->evict(dataset.path, run.front(), run.back(), kEvictNatives)) {
      dropped.insert(dropped.end(), run.begin(), run.end());
    }
  }
  std::size_t count = dropped.size();
  natives_ = set_difference(natives_, FrameSet(std::move(dropped)));
  return count;
}

}  // namespace zazen
