#include "daemon/worker/changes/change_notices.h"

#include <algorithm>
#include <thread>

#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::chrono::seconds kSayAfter{10};  // a shorter silence of a peer is not logged
constexpr std::chrono::seconds kDeafPause{60};
constexpr std::uint32_t kQuickRetries = 20;

}  // namespace

ChangeNotices::ChangeNotices(const Config& config, std::uint64_t life,
                             std::shared_ptr<KeyRing> keys)
    : config_(config), life_(life), keys_(std::move(keys)) {
  for (const std::string& peer : config.peers) add_peer(peer);
}

void ChangeNotices::add_peer(const std::string& name) {
  auto peer = std::make_shared<Peer>();
  peer->name = name;
  peer->queue.greet();
  peer->is_self = name == "unix:" + config_.runtime;
  peers_.reserve(peers_.size() + 1);
  if (!peer->is_self) {
    threads_.post([this, peer] { until_no_shortage([this, &peer] { serve(*peer); }); });
  }
  peers_.push_back(peer);
}

bool ChangeNotices::has_peers() const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(peers_, [](const PeerPointer& peer) { return !peer->is_self; });
}

template <class News>
void ChangeNotices::give_all(News news) {
  std::lock_guard lock(mutex_);
  for (const PeerPointer& peer : peers_) {
    if (peer->is_self) continue;
    news(peer->queue);
    peer->wake.notify_one();
  }
}

void ChangeNotices::tell(std::uint32_t dataset, FrameSeq seq, const FrameVersion& version) {
  const NoticeQueue::News news{version, Clock::now()};
  give_all([&](NoticeQueue& queue) { queue.add(dataset, seq, news); });
}

void ChangeNotices::distrust(std::uint32_t dataset) {
  give_all([&](NoticeQueue& queue) { queue.distrust(dataset); });
}

void ChangeNotices::renew(const Config& next) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  auto is_named = [&](const PeerPointer& peer) {
    return std::ranges::find(next.peers, peer->name) != next.peers.end();
  };
  std::erase_if(peers_, [&](const PeerPointer& peer) {
    if (is_named(peer)) return false;
    peer->ends = true;
    peer->wake.notify_one();
    return true;
  });
  for (const std::string& name : next.peers) {
    if (std::ranges::find(peers_, name, [](const PeerPointer& peer) { return peer->name; }) ==
        peers_.end()) {
      add_peer(name);
      // The peer may have been told of some earlier changes, and of others not.
      for (std::uint32_t i = 0; i < config_.datasets.size(); ++i)
        peers_.back()->queue.distrust(i);
    }
  }
}

std::vector<PeerFigures> ChangeNotices::figures() const {
  std::lock_guard lock(mutex_);
  std::vector<PeerFigures> figures;
  for (const PeerPointer& peer : peers_) {
    if (peer->is_self) continue;
    figures.push_back({peer->name, peer->told, peer->queue.waiting(), peer->failure});
  }
  return figures;
}

bool ChangeNotices::stop(std::chrono::milliseconds limit) {
  {
    Lock lock(mutex_);
    const Clock::time_point deadline = Clock::now() + kLastWords;
    auto waits = [](const PeerPointer& peer) {
      return !peer->is_self && peer->failures == 0 && !peer->queue.empty();
    };
    while (!stopping_ && std::ranges::any_of(peers_, waits) && Clock::now() < deadline) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      lock.lock();
    }
    stopping_ = true;
    for (const PeerPointer& peer : peers_) {
      peer->ends = true;
      peer->wake.notify_one();
    }
  }
  return threads_.stop(limit);
}

// ---- The peer's thread

void ChangeNotices::serve(Peer& peer) {
  Lock lock(mutex_);
  while (!peer.ends && !peer.is_self) {
    if (peer.queue.empty() || Clock::now() < peer.pause_until) {
      rest(peer, lock);
      continue;
    }
    NoticeQueue::Batch batch = *peer.queue.next(kLongestNotice / 32);
    lock.unlock();
    const ChangeNotice notice = make_notice(batch);
    const bool was_open = peer.link != nullptr;
    const Status done = send(peer, notice);
    lock.lock();
    if (done) {
      note_success(peer, batch);
    } else {
      note_failure(peer, done.error(), was_open);
    }
  }
  lock.unlock();
  peer.link.reset();
}

// Waits until there is a notice to send and it may be sent. Closes a connection that is not
// used.
void ChangeNotices::rest(Peer& peer, Lock& lock) {
  if (!peer.queue.empty()) {
    peer.wake.wait_until(lock, peer.pause_until);
  } else if (!peer.link) {
    peer.wake.wait(lock);
  } else if (peer.wake.wait_for(lock, kIdle) == std::cv_status::timeout && peer.queue.empty()) {
    const std::unique_ptr<NodeLink> link = std::move(peer.link);
    lock.unlock();
  }
  if (!lock) lock.lock();
}

// Takes as much of the batch as fits; the rest leaves the batch.
ChangeNotice ChangeNotices::make_notice(NoticeQueue::Batch& batch) const {
  ChangeNotice notice;
  notice.kind = batch.kind;
  notice.life = life_;
  notice.node = config_.node.substr(0, kMaxNodeName - 1);
  if (batch.kind == NoticeKind::kHello) return notice;
  const DatasetConfig& dataset = config_.datasets[batch.dataset];
  notice.dataset = dataset.path;
  std::size_t size = encoded_size(notice);
  for (const auto& [seq, queued] : batch.frames) {
    using std::chrono::milliseconds;
    const auto age = std::chrono::floor<milliseconds>(Clock::now() - queued.looked_at).count();
    char name[kMaxTemplate + 32];
    const std::size_t length = dataset.name.format(seq, name, sizeof name);
    // A number that is no companion comes from a user's own message. No frame of the peers has
    // the name "?".
    FrameNews news{length == 0 ? "?" : std::string(name, length), queued.version,
                   static_cast<std::uint32_t>(std::min<std::int64_t>(age, UINT32_MAX))};
    if (size += encoded_size(news); size > kLongestNotice) break;
    notice.frames.push_back(std::move(news));
  }
  batch.frames.resize(notice.frames.size());
  return notice;
}

Status ChangeNotices::send(Peer& peer, const ChangeNotice& notice) const {
  Result<Credentials> credentials = keys_->credentials();
  if (!credentials) return credentials.error();
  if (peer.link && !keys_->accepts(peer.link->key())) peer.link.reset();
  if (!peer.link) {
    Result<std::unique_ptr<NodeLink>> link =
        NodeLink::connect(peer.name, *credentials, kPatienceMs);
    if (!link) return link.error();
    peer.link = std::move(*link);
  }
  Status done = peer.link->tell(encode(notice));
  if (!done) peer.link.reset();
  return done;
}

void ChangeNotices::note_success(Peer& peer, const NoticeQueue::Batch& batch) {
  peer.queue.delivered(batch);
  peer.told += std::max<std::size_t>(batch.frames.size(), 1);
  if (peer.said) log_line(LogLevel::kInfo, "peer_returned", {{"peer", peer.name}});
  peer.said = false;
  peer.failure.clear();
  peer.failures = 0;
  if (peer.queue.empty()) peer.pause_until = Clock::now() + kPace;
}

void ChangeNotices::note_failure(Peer& peer, const Error& error, bool was_open) {
  const Clock::time_point now = Clock::now();
  if (error.code == ELOOP) {
    peer.is_self = true;
    peer.queue.clear();
    return;
  }
  if (peer.failures++ == 0) peer.failed_since = now;
  peer.failure = error.message();
  peer.pause_until = now + (peer.failures < kQuickRetries ? kRetry : kLongestRetry);
  // The connection was closed while it was idle, which says nothing about the peer.
  if (was_open && peer.failures == 1) peer.pause_until = now;
  const bool is_deaf = error.code == EOPNOTSUPP;
  if (is_deaf) {
    // After an update the peer may know this daemon's life from an earlier time.
    peer.queue.clear();
    peer.queue.greet();
    for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) peer.queue.distrust(i);
    peer.pause_until = now + kDeafPause;
  }
  if (peer.said || (!is_deaf && now - peer.failed_since < kSayAfter)) return;
  peer.said = true;
  log_line(LogLevel::kWarn, "peer_not_told",
           {{"peer", peer.name},
            {"what", "it does not hear of changed frames until it answers"},
            {"error", peer.failure}});
}

}  // namespace zazen
