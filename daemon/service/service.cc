// What zazend does by itself, from its start to its end.
#include "daemon/service/service.h"

#include <fmt/format.h>

#include "bodhi/config/cache_place.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::int64_t kJobSweepPeriodMs = 10'000;
constexpr std::int64_t kRightsPeriodMs = 10'000;
constexpr std::int64_t kReconcileAgainMs = 5'000;
constexpr std::int64_t kUntoldLimitMs = 60'000;    // a silent worker is dead long before
constexpr std::int64_t kDoubtedPeriodMs = 10'000;  // a user may doubt all the time
// A stop takes a second at most, whatever hangs.
constexpr std::chrono::milliseconds kStopLimit(300), kJobsLimit(100);

}  // namespace

Service::Service(const Config& config, Store& store, Publisher& publisher)
    : config_(config),
      store_(store),
      publisher_(publisher),
      started_ms_(monotonic_ms()),
      poor_place_(describe_poor_place(config.cache)),
      next_sweep_ms_(started_ms_),
      keys_(std::make_shared<KeyRing>(config.key_file)),
      trust_([&publisher](std::uint32_t dataset, std::uint32_t doubts) {
        publisher.note_doubts(dataset, doubts);
      }),
      origins_(store),
      cache_(store, trust_, origins_),
      changes_(config, store,
               {.doubt = [this](std::uint32_t dataset) { doubt(dataset); },
                .compare = [this](std::uint32_t dataset,
                                  std::vector<FrameSeq> frames) { compare(dataset, frames); }},
               {.watch =
                    [this](std::uint32_t dataset, FrameSeq seq) {
                      pool_->tell(origins_.worker_for(dataset), WatchChanges{{dataset, seq}});
                    },
                .tell = [this](const TellPeers& news) { tell_peers(news); }}),
      sweep_(store, trust_, config.sweep_ms,
             {.drop = [this](std::uint32_t dataset,
                             const SampleResult& result) { settle(dataset, result); },
              .compare = origins_.comparer(0)}),
      reads_(store, config.read_order) {
  publisher.order_reads(reads_.state().is_ordered);
  publisher.show(store.pending());
  store.health().watch([this](bool usable) { disk_changed(usable); });
  if (poor_place_.empty()) return;
  log_line(LogLevel::kWarn, "cache_place",
           {{"cache", config.cache}, {"what", poor_place_}, {"hint", kPoorPlaceHint}});
}

void Service::take_up(std::uint32_t dataset) {
  for (const auto& [fetched, seq] : store_.fetched_lately()) {
    if (fetched == dataset) trust_.doubt(dataset, kYoung, seq);
  }
  watch_suspended(dataset);
  post_reconcile(dataset);
}

template <class Work>
void Service::post_once(std::atomic<bool>& posted, WorkQueue& queue, Work work) {
  if (posted.exchange(true)) return;
  std::shared_ptr<std::atomic<bool>> mark(&posted, [](auto* last) { *last = false; });
  queue.post([mark, work] { work(); });
}

void Service::post_reconcile(std::uint32_t dataset) {
  post_once(housework_[dataset].reconciling, reconciling_, [this, dataset] {
    // Who may reach the copies decides what the index tells of them: nothing, if the origin
    // does not say. But nobody's room waits for that.
    if (store_.serves_all_users()) origins_.mirror_rights(dataset, 0);
    for (FrameSeq seq : store_.reconcile(dataset)) trust_.doubt(dataset, kYoung, seq);
  });
}

void Service::reconcile_again() {
  for (std::uint32_t dataset : store_.not_reconciled()) post_reconcile(dataset);
}

void Service::compare_young(std::uint32_t dataset) {
  std::optional<Trust::Due> due = trust_.due(dataset, kYoung);
  if (!due) return;
  if (due->is_whole) {
    due->frames.clear();
    for (const StoredFrame& frame : store_.list(dataset)) due->frames.push_back(frame.seq);
  }
  std::erase_if(due->frames, [&](FrameSeq seq) { return !store_.find(dataset, seq); });
  SampleResult result = compare_frames(store_, dataset, due->frames, origins_.comparer(0));
  settle(dataset, result);
  result.is_known() ? trust_.clear(*due) : trust_.try_again(*due);
}

bool Service::trusts_all() const {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (!config_.datasets[i].removed && trust_.is_in_doubt(i)) return false;
  }
  return store_.health().problem().empty();
}

// While it was out of use a change may not have dropped its copy: so opens are checked until
// all copies were compared.
void Service::disk_changed(bool usable) {
  for (std::uint32_t i = 0; usable && i < config_.datasets.size(); ++i) doubt_and_tell(i);
  if (usable) reconcile_again();
  publisher_.set_usable(usable);
}

// The counters are the users' own: what they say of changes and of hits has workers of that
// user look, and no more. zazend's own user is believed.
void Service::note_counted() {
  const CountedSince counted = publisher_.count();
  bytes_read_.note(counted, store_.usage());
  const DatasetUses::Look uses = uses_.look(counted.opened);
  store_.note_fills(uses.fills, uses.used);
  for (const auto& [uid, datasets] : uses.said)
    pool_->tell_running(uid, UsedDatasets{datasets});
  for (const auto& [dataset, uid] : counted.untold_changes) {
    if (dataset >= config_.datasets.size()) continue;
    if (uid == ::geteuid()) {
      note_untold(dataset, uid);
    } else {
      std::lock_guard lock(mutex_);
      untold_[uid].insert(dataset);
    }
  }
  ask_about_untold();
  compare_doubted();
}

void Service::ask_about_untold() {
  std::unique_lock lock(mutex_);
  std::erase_if(asked_untold_,
                [](const auto& one) { return one.second.until_ms < monotonic_ms(); });
  const std::map<uid_t, std::set<std::uint32_t>> untold = std::exchange(untold_, {});
  for (const auto& [uid, datasets] : untold) {
    // Before it is sent: the worker may die at once.
    AskedUntold& asked = asked_untold_[uid];
    asked.datasets.insert(datasets.begin(), datasets.end());
    asked.until_ms = monotonic_ms() + kUntoldLimitMs;
    lock.unlock();
    const bool is_told =
        pool_->tell_user(uid, UntoldChanges{{{datasets.begin(), datasets.end()}}});
    lock.lock();
    if (!is_told) untold_[uid].insert(datasets.begin(), datasets.end());
  }
}

// Which frame it is, and whether it is still being written, is not known.
void Service::note_untold(std::uint32_t dataset, uid_t uid) {
  trust_.doubt(dataset, kStale);
  std::unique_lock lock(mutex_);
  const bool is_first = !std::exchange(doubted_[dataset].compare, true);
  lock.unlock();
  if (!is_first) return;
  log_line(LogLevel::kWarn, "changes_not_told",
           {{"dataset", config_.datasets[dataset].path}, {"uid", std::to_string(uid)}});
}

void Service::compare_doubted() {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    std::unique_lock lock(mutex_);
    Doubted& doubted = doubted_[i];
    if (!doubted.compare || monotonic_ms() < doubted.due_ms) continue;
    doubted = {false, monotonic_ms() + kDoubtedPeriodMs};
    lock.unlock();
    doubt_and_tell(i);
  }
}

void Service::check_dataset(std::uint32_t dataset) {
  Housework& work = housework_[dataset];
  work.posted = false;
  if (work.rights_due.exchange(false)) {
    origins_.mirror_rights(dataset, 0);
    origins_.mirror_rights_of_names(dataset);
  }
  compare_young(dataset);
}

void Service::update_usage() {
  // An owner of frames may change them, and perhaps cannot tell.
  // Half of the places are for users whose programs come: one user may own frames of many.
  for (uid_t owner : store_.owners()) {
    publisher_.note_user(owner, UserCounters::kMostUsers / 2);
  }
  note_counted();
  if (keys_->drop_ended()) log_line(LogLevel::kInfo, "old_key_ended");
  changes_.look_again();
  tell_of_lost_news();
  reads_.measure_when_due([this](const ReadOrder::State& state) { note_read_order(state); });
  if (monotonic_ms() >= next_reconcile_ms_) {
    next_reconcile_ms_ = monotonic_ms() + kReconcileAgainMs;
    reconcile_again();
  }
}

void Service::note_read_order(const ReadOrder::State& state) {
  publisher_.order_reads(state.is_ordered);
  log_line(LogLevel::kInfo, "read_order",
           {{"ordered", state.is_ordered ? "yes" : "no"},
            {"seek_ms", state.seek_ms ? fmt::format("{:.2f}", *state.seek_ms) : "unknown"}});
}

void Service::tick() {
  if (listener_ == 0 && !push_sockets_.sockets.empty()) start_listener();
  if (metrics_worker_ == 0 && metrics_socket_.valid()) start_metrics();
  // Not here: whoever lists a million copies holds the store's lock.
  post_once(chores_posted_, errands_, [this] { update_usage(); });
  bool rights = store_.serves_all_users() && monotonic_ms() >= next_rights_ms_;
  if (rights) next_rights_ms_ = monotonic_ms() + kRightsPeriodMs;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    Housework& work = housework_[i];
    if (store_.is_index_due(i)) post_reconcile(i);
    if (rights) work.rights_due = true;
    if (!work.rights_due && !trust_.due(i, kYoung)) continue;
    if (work.posted.exchange(true)) continue;
    if (!samples_.post(i, [this, i] { check_dataset(i); })) work.posted = false;
  }
  if (findings_left_ > 0) post_once(findings_posted_, errands_, [this] { log_findings(); });
  if (monotonic_ms() < next_sweep_ms_) return;
  next_sweep_ms_ = monotonic_ms() + kJobSweepPeriodMs;
  post_once(job_sweep_posted_, errands_, [this] { sweep_jobs(OriginQuestions::kLimit); });
}

// A removed dataset is doubted when it comes back.
void Service::doubt_all() {
  log_line(LogLevel::kWarn, "heartbeat_gap",
           {{"what", "the daemon was held up: its copies are compared with their origins"}});
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (!config_.datasets[i].removed) doubt_and_tell(i);
  }
}

void Service::doubt_and_tell(std::uint32_t dataset) {
  doubt(dataset);
  changes_.missed(dataset);
}

void Service::stop() {
  stopping_ = true;
  sweep_jobs(kJobsLimit);
  std::unique_lock lock(mutex_);
  const WorkerId last = peers_worker_;
  lock.unlock();
  // The peers are told what the others have said last.
  pool_->order_all(Stop{}, kStopLimit,
                   [last](const Worker& worker) { return worker.id() != last; });
  if (last != 0) {
    NoReply reply;
    pool_->order(last, Stop{}, &reply, kStopLimit);
  }
  store_.give_up_reconciling();  // natives that wait for it would keep the pool from ending
  pool_->stop();
  store_.health().stop();
  reads_.stop();
  sweep_.stop();
  scrubs_.stop();
  reconciling_.stop();
  samples_.stop(WorkQueue::kForEver);
  looks_.stop(WorkQueue::kForEver);
  errands_.stop();
  munge_.stop();
  cache_.stop();
}

}  // namespace zazen
