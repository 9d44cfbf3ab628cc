// Service: what zazend does for its workers (service_asks.cc) and by itself: it keeps copies
// true and rights mirrored, sweeps, reconciles, and tells peers of changes.
//
// It knows the store, and an origin only by what workers say (service_origins.cc).
#pragma once
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "bodhi/config/config.h"
#include "bodhi/config/expand_paths.h"
#include "bodhi/push/key_ring.h"
#include "daemon/changes/peer_changes.h"
#include "daemon/link/link_messages.h"
#include "daemon/origin/trust.h"
#include "daemon/pool/worker_pool.h"
#include "daemon/service/bytes_read.h"
#include "daemon/service/dataset_uses.h"
#include "daemon/service/origin_questions.h"
#include "daemon/service/publisher.h"
#include "daemon/service/push_sockets.h"
#include "daemon/service/read_order.h"
#include "daemon/service/status.h"
#include "daemon/service/store_cache.h"
#include "daemon/store/store.h"
#include "daemon/threads/origin_threads.h"
#include "daemon/threads/work_queue.h"
#include "daemon/validation/sample.h"
#include "daemon/validation/sweep.h"

namespace zazen {

class Reload;

class Service : private WorkerPool::Owner {
 public:
  Service(const Config& config, Store& store, Publisher& publisher);

  // For the pool of workers, which is given to start() before it runs.
  WorkerPool::Owner& owner_of_workers() { return *this; }
  void start(WorkerPool& pool);

  // What the store holds of a dataset, at the start or when a reload has added it.
  void take_up(std::uint32_t dataset);
  // To be called about once a second: what dead jobs left goes, young copies come of age.
  void tick();
  // Workers end what is under way, within a limit; then nothing is asked of them any more.
  void stop();
  // Nothing that is served is in doubt, so that the next start may believe it.
  bool trusts_all() const;
  // A dataset that a reload adds: nobody watched its copies.
  void doubt(std::uint32_t dataset) { trust_.doubt(dataset, kUnwatched); }
  // The daemon was not there for a while, and may not have heard of changes.
  void doubt_all();
  KeyRing& keys() { return *keys_; }
  // Before workers can ask: what reads the configuration again.
  void reload_by(Reload& reload) { reload_ = &reload; }
  // Writers of other machines push here.
  void listen(PushSockets sockets);
  // Prometheus asks for metrics at this socket.
  void serve_metrics(UniqueFd socket);
  void write_log_to(const UniqueFd& log) { pool_->write_log_to(log); }
  // For a reload: where paths of origins lead (bodhi/config/config.h). A worker looks.
  std::vector<std::string> follow_links(const std::vector<std::string>& paths);
  // What each path with '*' stands for (bodhi/config/expand_paths.h). A worker looks.
  // Gives up after some seconds, and at once when `is_wanted` says no.
  std::vector<ExpandedPath> expand_paths(const std::vector<std::string>& patterns,
                                         const std::function<bool()>& is_wanted);
  // After a reload: the workers are told, and who the peers are.
  void renew(const Config& next);
  void renew_datasets();  // the workers are told

 private:
  using Worker = WorkerPool::Worker;

  // ---- What workers ask: service_asks.cc. An ask without a handler does not compile.
  LinkPacket first_order(const WorkerCredentials& credentials) override;
  bool take(Worker& worker, LinkPacket packet) override;
  template <class Ask>
  bool take_as(Worker& worker, LinkPacket& packet);
  template <class Ask>
  struct Asked;
  void handle(const Asked<BeginFill>& asked);
  void handle(const Asked<MoreRoom>& asked);
  void handle(const Asked<FinishFill>& asked);
  void handle(const Asked<FinishContent>& asked);
  void handle(const Asked<BeginPushes>& asked);
  void handle(const Asked<FinishPushes>& asked);
  void handle(const Asked<AbandonFill>& asked);
  void handle(const Asked<FillFailed>& asked);
  void handle(const Asked<Adopt>& asked);
  void handle(const Asked<Changed>& asked);
  void handle(const Asked<Suspend>& asked);
  void handle(const Asked<Restore>& asked);
  void handle(const Asked<Renew>& asked);
  void handle(const Asked<CopyState>& asked);
  void handle(const Asked<Check>& asked);
  void handle(const Asked<SampleAsk>& asked);
  void handle(const Asked<Evict>& asked);
  void handle(const Asked<Pin>& asked);
  void handle(const Asked<Verify>& asked);
  void handle(const Asked<ReadIn>& asked);
  void handle(const Asked<History>& asked);
  void handle(const Asked<StatusAsk>& asked);
  void handle(const Asked<ListAsk>& asked);
  void handle(const Asked<ReloadAsk>& asked);
  void handle(const Asked<AddDataset>& asked);
  void handle(const Asked<Notice>& asked);
  void handle(const Asked<BeginListing>& asked);
  void handle(const Asked<FinishListing>& asked);
  void handle(const Asked<Tell>& asked);
  void handle(const Asked<Doubt>& asked);
  void handle(const Asked<Untold>& asked);
  void handle(const Asked<Used>& asked);
  void handle(const Asked<PushKeyAsk>& asked);
  void handle(const Asked<Natives>& asked);
  void handle(const Asked<DiskState>& asked);
  void handle(const Asked<DecodeMunge>& asked);
  void handle(const Asked<ConnectAs>& asked);
  void handle(const Asked<WorkerFigures>& asked);
  void handle(const Asked<Leave>& asked);
  int keep_listing(const Asked<FinishListing>& asked);
  // 0, or EIO if the disk keeps it. `why` is a phrase for people.
  int drop_changed(std::uint32_t dataset, FrameSeq seq, const char* why);
  // A worker may have watched frames, and nobody does now.
  void worker_ended(WorkerId worker, const WorkerCredentials& credentials,
                    const WorkerFigures& figures, bool has_left) override;

  // ---- What workers are asked: service_origins.cc
  Configure configuration();
  int sample(WorkerId worker, std::uint32_t dataset);
  void compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames);
  // What a comparison has found: stale copies go, natives that waited are adopted.
  void settle(std::uint32_t dataset, const SampleResult& result);
  void adopt_arrived(std::uint32_t dataset, const std::vector<FrameSeq>& frames);
  void watch_suspended(std::uint32_t dataset);
  void tell_peers(const TellPeers& news);
  void tell_of_lost_news();
  void start_listener();
  void start_metrics();
  struct Received {
    FrameSeq seq;
    ReceivedContent content;
    std::function<void(int)> done;
  };
  // All of them, or none if there is no memory.
  void take_pushes(std::uint32_t dataset, std::list<Received>& arrived);
  void place_received(std::uint32_t dataset);
  // What dead jobs left, by the workers of their users; one limit for all.
  void sweep_jobs(std::chrono::milliseconds limit);
  // Logs what a person should know of the origins, each once.
  void log_findings();
  void note_read_order(const ReadOrder::State& state);

  // ---- By itself: service.cc
  void compare_young(std::uint32_t dataset);
  void note_counted();
  // Frames may have changed, as a worker of this user says.
  void note_untold(std::uint32_t dataset, uid_t uid);
  void ask_about_untold();
  void compare_doubted();
  // Unless it is posted already. The mark goes with the work, however it ends.
  template <class Work>
  static void post_once(std::atomic<bool>& posted, WorkQueue& queue, Work work);
  void post_reconcile(std::uint32_t dataset);
  void reconcile_again();  // what could not be reconciled
  void update_usage();
  void check_dataset(std::uint32_t dataset);
  void disk_changed(bool usable);
  // Changes may not have been told to this daemon, or not all of them.
  void doubt_and_tell(std::uint32_t dataset);

  const Config& config_;
  Store& store_;
  Publisher& publisher_;
  WorkerPool* pool_ = nullptr;
  Reload* reload_ = nullptr;
  const std::int64_t started_ms_;
  const std::string poor_place_;  // what speaks against the place of the cache, or ""
  std::int64_t next_sweep_ms_;
  std::int64_t next_rights_ms_ = 0;
  struct Housework {  // of one dataset; while its origin hangs no more of it is posted
    std::atomic<bool> posted = false;
    std::atomic<bool> rights_due = false;
    std::atomic<bool> reconciling = false;
  };
  std::array<Housework, kMaxDatasets> housework_;
  std::atomic<bool> chores_posted_ = false, job_sweep_posted_ = false, findings_posted_ = false;
  // An origin may answer late: so often more is it looked at for the log, after a start or
  // reload.
  std::atomic<int> findings_left_ = 0;
  std::set<std::string> logged_findings_;  // of log_findings()
  std::int64_t next_reconcile_ms_ = 0;     // these two: of the chores
  std::atomic<bool> stopping_ = false;
  PushOutcomes pushes_;
  PushSockets push_sockets_;
  std::atomic<WorkerId> listener_ = 0;
  UniqueFd metrics_socket_;
  std::atomic<WorkerId> metrics_worker_ = 0;
  WorkerId peers_worker_ = 0;                // it tells the peers; mutex_ is held
  std::atomic<bool> has_lost_news_ = false;  // for the peers
  const std::shared_ptr<KeyRing> keys_;

  std::mutex mutex_;
  struct Doubted {  // a dataset with untold changes
    bool compare = false;
    std::int64_t due_ms = 0;
  };
  std::array<Doubted, kMaxDatasets> doubted_ = {};
  // Untold changes by the users' counters: whose workers are to be asked, and which were. A
  // worker that dies may not have answered: then the next one is asked.
  struct AskedUntold {
    std::set<std::uint32_t> datasets;
    std::int64_t until_ms = 0;
  };
  std::map<uid_t, std::set<std::uint32_t>> untold_;
  std::map<uid_t, AskedUntold> asked_untold_;
  Configure peer_keys_;                                 // without the datasets
  std::map<WorkerId, std::set<std::uint32_t>> writes_;  // datasets that workers watch
  struct Listing {
    WorkerId worker;
    std::uint32_t dataset;
    UniqueFd file;
  };
  std::map<std::uint64_t, Listing> listings_;  // by ticket
  std::uint64_t next_listing_ = 1;
  std::map<std::uint32_t, std::list<Received>> received_;  // pushes that are complete
  WorkerFigures ended_figures_;                            // of workers that are no more

  DatasetUses uses_{::geteuid()};
  BytesRead bytes_read_;
  Trust trust_;
  OriginQuestions origins_;
  StoreCache cache_;
  PeerChanges changes_;  // before the sweep, which tells it of stale copies
  Sweep sweep_;
  WorkQueue errands_{2};
  WorkQueue reconciling_{1};
  ReadOrder reads_;
  WorkQueue scrubs_{1};       // apart: reading a large copy takes its time
  OriginThreads samples_{1};  // apart: an origin that hangs must not hold up the errands
  OriginThreads looks_{1, WorkQueue::Queued::kDone};
  WorkQueue munge_{WorkQueue::OnDemand{64}};
};

template <class Ask>
struct Service::Asked {
  std::shared_ptr<Worker> worker;
  std::uint64_t request = 0;
  Ask ask;

  void reply(int status) const { worker->reply(kLinkType<Ask>, request, status); }
  void reply(LinkReply<Ask> answer) const {
    std::string body = encode_link_body(answer);
    std::vector<UniqueFd> files;
    if constexpr (requires { answer.files; }) files = std::move(answer.files);
    if constexpr (requires { answer.file; }) {
      if (answer.file.valid()) files.push_back(std::move(answer.file));
    }
    worker->reply(kLinkType<Ask>, request, 0, std::move(body), std::move(files));
  }
};

}  // namespace zazen
