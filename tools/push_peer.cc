// See push_peer.h.
#include "tools/push_peer.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "bodhi/identity.h"
#include "bodhi/table.h"
#include "tools/node.h"
#include "tools/past_the_shim.h"
#include "tools/target.h"

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

PushPeer::PushPeer(std::string name) : name_(std::move(name)) {
  constexpr std::string_view kPrefix = "unix:";
  runtime_ = name_.starts_with(kPrefix) ? name_.substr(kPrefix.size()) : name_;
}

Status PushPeer::open(const DatasetConfig& dataset, int timeout_ms) {
  reachable = false;
  client_.reset();
  Result<Client> client = Client::connect(runtime_, timeout_ms);
  if (!client) return client.error();
  Result<std::vector<ListRecord>> records = client->list(dataset.path);
  if (!records) {
    reachable = !is_silence(records.error());
    return records.error();
  }
  std::vector<FrameSeq> natives;
  for (const ListRecord& record : *records) {
    if (record.kind == FrameKind::kNative) natives.push_back(record.seq);
  }
  natives_ = FrameSet(std::move(natives));
  reachable = true;
  client_.emplace(std::move(*client));
  return Done{};
}

std::size_t PushPeer::drop_stale(const DatasetConfig& dataset, int directory_fd, bool dry_run) {
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

  std::vector<FrameSeq> dropped;
  for (const std::vector<FrameSeq>& run : runs) {
    if (dry_run || client_->evict(dataset.path, run.front(), run.back(), kEvictNatives)) {
      dropped.insert(dropped.end(), run.begin(), run.end());
    }
  }
  std::size_t count = dropped.size();
  natives_ = set_difference(natives_, FrameSet(std::move(dropped)));
  return count;
}

Status PushPeer::send(const DatasetConfig& dataset, const OriginFrame& frame,
                      const std::string& name, int origin_fd) {
  for (;;) {
    Result<std::uint64_t> request = client_->start_push(dataset.path, name, origin_fd);
    if (request) {
      under_way_.emplace(*request, frame);
      return Done{};
    }
    if (request.error().code != ETIMEDOUT || !is_alive()) return request.error();
  }
}

Result<PushPeer::Answer> PushPeer::next_answer() {
  for (;;) {
    Result<Client::PushAnswer> answer = client_->next_push_answer();
    if (!answer) {
      if (answer.error().code != ETIMEDOUT || !is_alive()) return answer.error();
      continue;
    }
    auto found = under_way_.find(answer->request);
    if (found == under_way_.end()) continue;  // of a request that was given up
    Answer result{found->second, answer->status};
    under_way_.erase(found);
    return result;
  }
}

std::vector<OriginFrame> PushPeer::give_up() {
  std::vector<OriginFrame> frames;
  for (const auto& [request, frame] : under_way_) frames.push_back(frame);
  under_way_.clear();
  client_.reset();
  reachable = false;
  return frames;
}

bool PushPeer::is_alive() const {
  Result<Client> probe = Client::connect(runtime_, kAnswerTimeoutMs);
  return probe && probe->status();
}

}  // namespace zazen
