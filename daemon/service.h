// Service: what each message of a client means. It blocks nowhere: what may take time is
// handed to threads, and the answers come through the outbox.
#pragma once
#include <atomic>
#include <cstdint>

#include "bodhi/config.h"
#include "daemon/filler.h"
#include "daemon/outbox.h"
#include "daemon/packet.h"
#include "daemon/permission.h"
#include "daemon/publisher.h"
#include "daemon/sample.h"
#include "daemon/store.h"
#include "daemon/work_queue.h"
#include "daemon/young_copies.h"

namespace zazen {

class Service {
 public:
  Service(const Config& config, Store& store, Publisher& publisher, std::size_t queue_limit);

  enum class Taken { kYes, kLater, kNonsense };
  // kLater: a push while the queue is full; try the same packet again when the outbox wakes.
  // kNonsense: no client of ours sends this; close the connection.
  Taken take(std::uint64_t client, const Peer& peer, Packet& packet);
  static bool is_answered(const MessageHeader& header);

  // A client has connected.
  void welcome(const PeerIdentity& peer) { publisher_.note_user(peer.uid); }

  Outbox& outbox() { return outbox_; }
  // To be called about once a second: what dead jobs left goes, young copies come of age.
  void keep_house();
  // Afterwards the outbox has the last answers.
  void stop();

 private:
  struct Asked {  // who asked for what
    std::uint64_t client;
    std::uint64_t request;
    Peer peer;
    bool is_own_user() const { return zazen::is_own_user(*peer); }
  };

  Taken take_frame(const Asked& asked, Packet& packet);
  void take_dataset(const Asked& asked, Packet& packet);
  void take_evict(const Asked& asked, const Packet& packet);
  void answer(const Asked& asked, int status, std::string body = {}, UniqueFd passed = {});
  std::optional<std::uint32_t> find_dataset(const char* path, std::size_t length) const;

  // Posts the errand if the client may wish for this; answers with a refusal otherwise.
  void post_if_allowed(const Asked& asked, Wish wish, std::uint32_t dataset, WorkQueue& queue,
                       std::function<void()> errand);
  void post_invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq);
  void invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq);
  void sample(std::uint32_t dataset);
  void look_at_young(std::uint32_t dataset);
  void drop_stale(std::uint32_t dataset, const SampleResult& result);
  void answer_list(const Asked& asked, std::optional<std::uint32_t> dataset);
  void answer_status(const Asked& asked);
  int keep_listing(std::uint32_t dataset, int fd);

  const Config& config_;
  Store& store_;
  Publisher& publisher_;
  const std::int64_t started_ms_;
  std::int64_t next_sweep_ms_;
  std::int64_t next_rights_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  Outbox outbox_;
  YoungCopies young_;
  Filler filler_;
  WorkQueue errands_{2};
  WorkQueue samples_{1};    // apart: an origin that hangs must not hold up the errands
  WorkQueue questions_{4};  // so are those that ask the origin what a client may
};

}  // namespace zazen
