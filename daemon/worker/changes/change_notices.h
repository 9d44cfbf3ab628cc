// ChangeNotices: tells the nodes in `peers` of frames that have changed at the origin (D28).
//
// Each peer has a queue (notice_queue.h), a thread, and a connection while there are notices to
// send. So a peer that hangs or is dead delays nobody else, and no caller ever waits. A notice
// that was not answered is sent again, every kRetry to kLongestRetry, until the peer answers.
// So a peer that was down, or cut off, learns of the changes later.
//
// A daemon first sends each peer a greeting. By `life` the peer sees whether it has met this
// daemon before: nobody was told of changes while no daemon ran (reported_changes.h).
//
// `peers` may name this very daemon. It answers ELOOP, and gets no further notice.
//
// Thread safe.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "bodhi/push/key_ring.h"
#include "bodhi/push/node_link.h"
#include "daemon/link/link_messages.h"
#include "daemon/threads/work_queue.h"
#include "daemon/worker/changes/notice_queue.h"

namespace zazen {

class ChangeNotices {
 public:
  static constexpr int kPatienceMs = 1'000;  // with a peer that is silent
  static constexpr std::chrono::milliseconds kRetry{250}, kLongestRetry{1'000};
  static constexpr std::chrono::milliseconds kPace{50};  // between two notices of a frame
  static constexpr std::chrono::milliseconds kIdle{5'000};
  static constexpr std::chrono::milliseconds kLastWords{500};

  ChangeNotices(const Config& config, std::uint64_t life, std::shared_ptr<KeyRing> keys);
  ~ChangeNotices() { stop(std::chrono::hours(1)); }

  bool has_peers() const;
  void tell(std::uint32_t dataset, FrameSeq seq, const FrameVersion& version);
  // Any frame of the dataset may have changed.
  void distrust(std::uint32_t dataset);
  // Applies a reload's `peers`.
  void renew(const Config& next);
  std::vector<PeerFigures> figures() const;  // without this very daemon
  // Sends the queued notices to peers that answer, within kLastWords. False: a thread hangs.
  bool stop(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Peer {  // its members need mutex_, except the link and its key
    std::string name;
    NoticeQueue queue;
    std::condition_variable wake;
    bool ends = false;
    bool is_self = false;
    std::uint64_t told = 0;
    std::string failure;
    std::uint32_t failures = 0;  // in a row
    Clock::time_point failed_since, pause_until;
    bool said = false;  // the log says that it cannot be told
    std::unique_ptr<NodeLink> link;
  };
  using PeerPointer = std::shared_ptr<Peer>;

  void add_peer(const std::string& name);
  void serve(Peer& peer);
  void rest(Peer& peer, Lock& lock);
  ChangeNotice make_notice(NoticeQueue::Batch& batch) const;
  Status send(Peer& peer, const ChangeNotice& notice) const;
  void note_success(Peer& peer, const NoticeQueue::Batch& batch);
  void note_failure(Peer& peer, const Error& error, bool was_open);
  template <class News>
  void give_all(News news);

  const Config& config_;
  const std::uint64_t life_;
  const std::shared_ptr<KeyRing> keys_;
  mutable std::mutex mutex_;
  std::vector<PeerPointer> peers_;
  bool stopping_ = false;
  WorkQueue threads_{WorkQueue::OnDemand{WorkQueue::kAnyNumber}};
};

}  // namespace zazen
