// Service: what each message of a client means. It blocks nowhere: what may take time is
// handed to threads, and the answers come through the outbox.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "bodhi/config.h"
#include "daemon/askers.h"
#include "daemon/filler.h"
#include "daemon/origin_lanes.h"
#include "daemon/outbox.h"
#include "daemon/own_writer.h"
#include "daemon/packet.h"
#include "daemon/peer_changes.h"
#include "daemon/permission.h"
#include "daemon/publisher.h"
#include "daemon/push_counts.h"
#include "daemon/read_order.h"
#include "daemon/sample.h"
#include "daemon/store.h"
#include "daemon/sweep.h"
#include "daemon/work_queue.h"
#include "daemon/written_frames.h"
#include "daemon/young_copies.h"

namespace zazen {

class Service {
 public:
  Service(const Config& config, Store& store, Publisher& publisher, std::size_t queue_limit);

  enum class Taken { kYes, kLater, kNonsense };
  // kLater: a push while the queue is full; try the same packet again when the outbox wakes.
  // kNonsense: no client of ours sends this; close the connection.
  Taken take(std::uint64_t client, const Peer& peer, Packet& packet);

  // A client has connected.
  void welcome(const PeerIdentity& peer) { publisher_.note_user(peer.uid); }

  Outbox& outbox() { return outbox_; }
  // What the store holds of a dataset, at the start or when a reload has added it.
  void take_up(std::uint32_t dataset);
  // To be called about once a second: what dead jobs left goes, young copies come of age.
  void keep_house();
  // Afterwards the outbox has the last answers. False: a thread is caught in an origin that
  // does not answer; the process must end without destructors.
  bool stop();
  // Once nobody is served any more: the daemon's own pushes end. False as above.
  bool stop_writing();
  // Nothing that is served is in doubt, so that the next start may believe it.
  bool trusts_all() const;
  // A dataset that a reload adds: nobody watched its copies.
  void doubt(std::uint32_t dataset) { sweep_.doubt(dataset); }
  // The daemon was not there for a while, and may not have heard of changes.
  void doubt_all();
  OriginThreads& origins() { return filler_.origins(); }
  // A frame that came over the network.
  void take_push(FillRequest request) { filler_.take(std::move(request)); }
  PushCounts& push_counts() { return push_counts_; }
  KeyRing& keys() { return *keys_; }
  // Another daemon tells of changed frames, over the network: 0 or an errno.
  int take_notice(std::string_view notice) { return changes_.take(notice); }
  // A reload: who the peers are, and how to reach them.
  void renew_peers(const Config& next) {
    writer_.renew(next);
    changes_.renew(next);
  }

 private:
  struct Asked {  // who asked for what
    std::uint64_t client;
    std::uint64_t request;
    Peer peer;
    bool is_answered;
    bool is_own_user() const { return zazen::is_own_user(*peer); }
  };
  static constexpr std::uint32_t kAllDatasets = ~std::uint32_t{0};
  struct Request {
    Asked asked;
    Packet packet;
    std::uint32_t dataset = kAllDatasets;  // stays so if the message names none
    FrameSeq seq = 0;                      // of the frame, if it names one
    bool is_put_off = false;               // set by a handler: to be taken again later
  };

  // What a message means: service_messages.cc. A row of kMessages without a handler there does
  // not compile. Only a row without a wish can be put off.
  using Handler = void (Service::*)(Request&);
  template <MessageType type>
  void handle(Request& request) = delete;
  template <std::size_t row>
  static constexpr Handler handler_of() {
    if constexpr (kMessages[row].from == Sender::kDaemon) {
      return nullptr;
    } else {
      return &Service::handle<kMessages[row].type>;
    }
  }
  template <std::size_t... rows>
  static constexpr auto handlers_of(std::index_sequence<rows...>) {
    return std::array{handler_of<rows>()...};
  }
  // 0, or why it is refused.
  int read_names(const MessageRule& rule, const Packet& packet, Request* out) const;
  void submit(Request& request, FrameKind kind, bool is_content = false);
  void pin(const Request& request, bool pinned);
  void answer(const Asked& asked, int status, std::string body = {});
  // `work`, which answers; without memory the answer is ENOMEM.
  template <class Work>
  auto answering(const Asked& asked, Work work);
  std::optional<std::uint32_t> find_dataset(const char* path, std::size_t length) const;

  int sample(std::uint32_t dataset);  // 0 or an errno: the origin could not be asked
  void invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq, bool found_stale);
  // 0, or EIO if the disk keeps it. `why` is a phrase for people.
  int drop_changed(std::uint32_t dataset, FrameSeq seq, const Peer& client,
                   const char* why = PeerChanges::kChanged);
  // Frames that somebody has open for writing (D25): service_writers.cc.
  void open_for_writing(const Asked& asked, std::uint32_t dataset, FrameSeq seq);
  void watch_suspended(std::uint32_t dataset);
  void watch(std::uint32_t dataset, FrameSeq seq, const Peer& client);
  void writers_gone(const ClosedFrame& frame);
  void settle_suspended(const ClosedFrame& frame);
  void look_at_young(std::uint32_t dataset);
  void compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames);
  // What a comparison has found: stale copies go, natives that waited are adopted.
  void settle(std::uint32_t dataset, const SampleResult& result);
  struct Content {
    std::string body;
    UniqueFd file;
  };
  Content list_for(const Asked& first, std::uint32_t dataset);
  template <class Make>
  void answer_all(const std::vector<Asked>& askers, Make make);
  int keep_listing(std::uint32_t dataset, int fd);
  void note_counted();
  // Unless it is posted already. The mark goes with the work, however it ends.
  template <class Work>
  static void post_once(std::atomic<bool>& posted, WorkQueue& queue, Work work);
  void post_reconcile(std::uint32_t dataset);
  void reconcile_again();  // what could not be reconciled
  void do_chores();
  void do_housework(std::uint32_t dataset);
  void mirror_rights(std::uint32_t dataset);
  void disk_changed(bool usable);
  // Changes may not have been told to this daemon, or not all of them.
  void doubt_and_tell(std::uint32_t dataset);

  const Config& config_;
  Store& store_;
  Publisher& publisher_;
  const std::int64_t started_ms_;
  std::int64_t next_sweep_ms_;
  std::int64_t next_rights_ms_ = 0;
  struct Housework {  // of one dataset; while its origin hangs no more of it is posted
    std::atomic<bool> posted = false;
    std::atomic<bool> rights_due = false;
    std::atomic<bool> reconciling = false;
  };
  std::array<Housework, kMaxDatasets> housework_;
  std::atomic<bool> chores_posted_ = false, job_sweep_posted_ = false;
  std::int64_t next_reconcile_ms_ = 0;  // these two: of the chores
  struct UntoldChanges {                // of one dataset, found in the counters
    bool compare = false;
    std::int64_t due_ms = 0;
  };
  std::array<UntoldChanges, kMaxDatasets> untold_changes_ = {};
  std::atomic<bool> stopping_ = false;
  PushCounts push_counts_;
  const std::shared_ptr<KeyRing> keys_;
  Outbox outbox_;
  YoungCopies young_;
  Filler filler_;
  PeerChanges changes_;  // before the sweep, which tells it of stale copies
  Askers<Asked> lists_, statuses_, comparisons_;
  Sweep sweep_;
  WorkQueue errands_{2};
  WorkQueue long_errands_{
      1};  // apart: nobody's status or invalidation waits for a million copies
  WorkQueue reconciling_{1};
  ReadOrder reads_;
  WorkQueue scrubs_{1};       // apart: reading a large copy takes its time
  OriginLanes samples_{1};    // apart: an origin that hangs must not hold up the errands
  OriginLanes questions_{2};  // so are those that ask the origin what a client may
  const Peer own_user_;
  WrittenFrames written_;
  OwnWriter writer_;
};

}  // namespace zazen
