#include "daemon/peer_changes.h"

#include <cstring>

#include "bodhi/push_keys.h"

namespace zazen {
namespace {

std::uint64_t random_number() {
  const Bytes32 bytes = random_bytes();
  std::uint64_t number;
  std::memcpy(&number, &bytes, sizeof number);
  return number;
}

}  // namespace

PeerChanges::PeerChanges(const Config& config, Store& store, std::shared_ptr<KeyRing> keys,
                         ReportedChanges::Hooks hooks)
    : store_(store),
      life_(random_number()),
      reported_(config, store, history_, life_, std::move(hooks)),
      notices_(config, life_, std::move(keys)),
      changing_(config,
                {.tell =
                     [this](std::uint32_t dataset, FrameSeq seq, const FrameVersion& version) {
                       notices_.tell(dataset, seq, version);
                     },
                 .distrust = [this](std::uint32_t dataset) { notices_.distrust(dataset); }},
                ChangingFrames::Limits()) {}

void PeerChanges::changed(std::uint32_t dataset, FrameSeq seq, const Peer& client,
                          std::string dropped) {
  if (!dropped.empty()) history_.note_drop(dataset, seq, std::move(dropped));
  if (notices_.has_peers()) changing_.take(dataset, seq, client);
}

void PeerChanges::opened(std::uint32_t dataset, FrameSeq seq, const Peer& client) {
  if (!notices_.has_peers()) return;
  OriginIdentity copy = {};
  std::optional<FrameVersion> known;
  if (store_.read_copy_identity(dataset, seq, &copy) == 0) {
    known = FrameVersion{false, copy.size, copy.mtime_ns, copy.ctime_ns};
  }
  changing_.take(dataset, seq, client, known);
}

void PeerChanges::found_stale(std::uint32_t dataset, const std::vector<ExactCopy>& copies) {
  for (const ExactCopy& copy : copies) {
    history_.note_drop(dataset, copy.seq, kDiffered);
  }
  if (!notices_.has_peers()) return;
  if (copies.size() > kMostStale) return notices_.distrust(dataset);
  for (const ExactCopy& copy : copies) changing_.take(dataset, copy.seq, nullptr);
}

void PeerChanges::missed(std::uint32_t dataset) {
  history_.note_doubt(dataset, "this daemon may have missed changes");
  notices_.distrust(dataset);
}

bool PeerChanges::stop(std::chrono::milliseconds limit) {
  const bool looked = changing_.stop(limit);
  return notices_.stop(limit) && looked;
}

}  // namespace zazen
