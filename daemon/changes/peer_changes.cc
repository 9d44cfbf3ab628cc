#include "daemon/changes/peer_changes.h"

#include <cstring>

#include "bodhi/push/push_keys.h"

namespace zazen {
namespace {

std::uint64_t random_number() {
  const Bytes32 bytes = random_bytes();
  std::uint64_t number;
  std::memcpy(&number, &bytes, sizeof number);
  return number;
}

}  // namespace

PeerChanges::PeerChanges(const Config& config, Store& store, ReportedChanges::Hooks reported,
                         Hooks hooks)
    : config_(config),
      hooks_(std::move(hooks)),
      life_(random_number()),
      reported_(config, store, history_, life_, std::move(reported)) {}

void PeerChanges::dropped(std::uint32_t dataset, FrameSeq seq, const char* why) {
  history_.note_drop(dataset, seq, why);
}

void PeerChanges::tell(const Tell& news) {
  if (config_.has_peers) hooks_.tell({life_, news});
}

void PeerChanges::distrust(std::uint32_t dataset) {
  tell(Tell{{dataset, 0}});
}

void PeerChanges::greet(bool again) {
  tell(Tell{});
  for (std::uint32_t i = 0; again && i < config_.datasets.size(); ++i) distrust(i);
}

void PeerChanges::found_stale(std::uint32_t dataset, const std::vector<ExactCopy>& copies) {
  for (const ExactCopy& copy : copies) {
    history_.note_drop(dataset, copy.seq, kDiffered);
  }
  if (!config_.has_peers) return;
  if (copies.size() > kMostStale) return distrust(dataset);
  for (const ExactCopy& copy : copies) hooks_.watch(dataset, copy.seq);
}

void PeerChanges::missed(std::uint32_t dataset) {
  history_.note_doubt(dataset, "this daemon may have missed changes");
  distrust(dataset);
}

}  // namespace zazen
