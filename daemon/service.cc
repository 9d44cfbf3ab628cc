// The service's life: what it does by itself, from its start to its end.
#include "daemon/service.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "daemon/adoption.h"
#include "daemon/job_sweep.h"
#include "daemon/log.h"
#include "daemon/origin.h"

namespace zazen {
namespace {

constexpr std::int64_t kRightsPeriodMs = 10'000;
constexpr std::int64_t kReconcileAgainMs = 5'000;
constexpr std::int64_t kUntoldPeriodMs = 10'000;  // anybody may say that something changed

// A frame that is watched has a descriptor open, as a queued fill has.
WrittenFrames::Limits limits_of(std::size_t queue_limit) {
  WrittenFrames::Limits limits;
  limits.watched = std::min(limits.watched, queue_limit / 4);
  return limits;
}

}  // namespace

Service::Service(const Config& config, Store& store, Publisher& publisher,
                 std::size_t queue_limit)
    : config_(config),
      store_(store),
      publisher_(publisher),
      started_ms_(monotonic_ms()),
      next_sweep_ms_(started_ms_ + kJobSweepPeriodMs),
      keys_(std::make_shared<KeyRing>(config.key_file)),
      young_([&publisher](std::uint32_t dataset, std::uint32_t copies) {
        publisher.note_young(dataset, copies);
      }),
      filler_(store, young_, queue_limit, [this] { outbox_.wake(); }),
      changes_(config, store, keys_,
               {.doubt = [this](std::uint32_t dataset) { sweep_.doubt(dataset); },
                .compare = [this](std::uint32_t dataset,
                                  std::vector<FrameSeq> frames) { compare(dataset, frames); }}),
      sweep_(store, config.sweep_ms,
             {.mark = [&publisher](std::uint32_t dataset,
                                   bool checked) { publisher.note_checks(dataset, checked); },
              .drop = [this](std::uint32_t dataset,
                             const SampleResult& result) { settle(dataset, result); }}),
      reads_(store),
      own_user_(std::make_shared<PeerIdentity>(PeerIdentity{::geteuid(), ::getegid(), {}})),
      written_(config,
               {.closed = [this](const ClosedFrame& frame) { writers_gone(frame); },
                .epoch = [&store](std::uint32_t dataset,
                                  FrameSeq seq) { return store.epoch(dataset, seq); }},
               limits_of(queue_limit)),
      writer_(config, keys_, [this](const std::string& path, FrameSeq seq) {
        std::optional<std::uint32_t> dataset = find_dataset(path.data(), path.size());
        return dataset && written_.is_open(*dataset, seq);
      }) {
  store.health().watch([this](bool usable) { disk_changed(usable); });
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) take_up(i);
}

void Service::take_up(std::uint32_t dataset) {
  for (const auto& [fetched, seq] : store_.fetched_lately()) {
    if (fetched == dataset) young_.note(dataset, seq, monotonic_ms());
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
    // And only the dataset's own directories: others wait for the same thread of this origin.
    auto look = [this, dataset] {
      store_.mirror_own_rights(dataset);
      return 0;
    };
    if (store_.serves_all_users()) (void)origins().ask(dataset, look, Filler::kOriginLimit);
    for (FrameSeq seq : store_.reconcile(dataset)) young_.note(dataset, seq, monotonic_ms());
  });
}

void Service::reconcile_again() {
  for (std::uint32_t dataset : store_.not_reconciled()) post_reconcile(dataset);
}

int Service::drop_changed(std::uint32_t dataset, FrameSeq seq, const Peer& client,
                          const char* why) {
  young_.note(dataset, seq, monotonic_ms());
  filler_.cancel(dataset, seq);
  const bool was_held = store_.drop(dataset, std::span(&seq, 1)).frames > 0;
  changes_.changed(dataset, seq, client, was_held ? why : "");
  bool stays = store_.find(dataset, seq).has_value();  // the disk does not let it go
  if (stays) sweep_.distrust(dataset);
  return stays ? EIO : 0;
}

std::optional<std::uint32_t> Service::find_dataset(const char* path, std::size_t length) const {
  std::string_view wanted(path, length);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].path == wanted) return i;
  }
  return std::nullopt;
}

int Service::sample(std::uint32_t dataset) {
  mirror_rights(dataset);
  SampleResult result = compare_sample(store_, dataset);
  // First of all: a new copy in the place of a stale one looks as though all were well.
  if (!result.stale.empty()) sweep_.distrust(dataset);
  settle(dataset, result);
  if (result.status == 0) publisher_.note_sample(dataset);
  return result.status;
}

void Service::look_at_young(std::uint32_t dataset) {
  std::int64_t now_ms = monotonic_ms();
  std::vector<FrameSeq> due = young_.due(dataset, now_ms);
  if (due.empty()) return;
  std::vector<FrameSeq> held;
  std::ranges::copy_if(due, std::back_inserter(held),
                       [&](FrameSeq seq) { return store_.find(dataset, seq).has_value(); });
  SampleResult result = compare_frames(store_, dataset, held);
  settle(dataset, result);
  if (result.status != 0 || result.unknown > 0) return;  // not to be known: they stay young
  young_.settle(dataset, due, now_ms);
}

void Service::settle(std::uint32_t dataset, const SampleResult& result) {
  for (FrameSeq seq : result.arrived) {
    auto question = [this, dataset, seq] {
      ReachedDirectories reached;
      UniqueFd origin =
          find_named(config_.datasets[dataset], store_.name_of(dataset, seq), nullptr, kToRead,
                     store_.serves_all_users() ? &reached : nullptr);
      return origin.valid() ? adopt(store_, dataset, seq, origin.get(), nullptr, reached)
                            : errno;
    };
    if (origins().ask(dataset, question, Filler::kOriginLimit) == ETIMEDOUT) break;
  }
  if (result.stale.empty()) return;
  log_line(LogLevel::kWarn, "stale_copies",
           {{"dataset", config_.datasets[dataset].path},
            {"compared", std::to_string(result.compared)},
            {"stale", std::to_string(result.stale.size())}});
  changes_.found_stale(dataset, result.stale);
  store_.drop_exactly(dataset, result.stale);
}

bool Service::trusts_all() const {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (!config_.datasets[i].removed && sweep_.is_in_doubt(i)) return false;
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

void Service::note_counted() {
  const CountedSince counted = publisher_.count();
  store_.note_opens(counted.opens, counted.opened);
  for (const auto& [dataset, uid] : counted.untold_changes) {
    if (dataset >= config_.datasets.size()) continue;
    if (!std::exchange(untold_changes_[dataset].compare, true)) {
      log_line(LogLevel::kWarn, "changes_not_told",
               {{"dataset", config_.datasets[dataset].path}, {"uid", std::to_string(uid)}});
    }
    // Which frame it is, and whether it is still being written, is not known.
    sweep_.distrust(dataset);
  }
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    UntoldChanges& untold = untold_changes_[i];
    if (!untold.compare || monotonic_ms() < untold.due_ms) continue;
    untold = {false, monotonic_ms() + kUntoldPeriodMs};
    doubt_and_tell(i);
  }
}

void Service::do_housework(std::uint32_t dataset) {
  Housework& work = housework_[dataset];
  work.posted = false;
  if (work.rights_due.exchange(false)) mirror_rights(dataset);
  look_at_young(dataset);
}

void Service::mirror_rights(std::uint32_t dataset) {
  store_.mirror_own_rights(dataset);
  store_.mirror_rights_of_names(dataset);
}

void Service::do_chores() {
  // An owner of frames may change them, and perhaps cannot tell.
  // Half of the places are for users whose programs come: one user may own frames of many.
  for (uid_t owner : store_.owners()) {
    publisher_.note_user(owner, UserCounters::kMostUsers / 2);
  }
  note_counted();
  changes_.look_again();
  if (monotonic_ms() >= next_reconcile_ms_) {
    next_reconcile_ms_ = monotonic_ms() + kReconcileAgainMs;
    reconcile_again();
  }
}

void Service::keep_house() {
  writer_.keep_house();
  // Not here: whoever lists a million copies holds the store's lock.
  post_once(chores_posted_, errands_, [this] { do_chores(); });
  bool rights = store_.serves_all_users() && monotonic_ms() >= next_rights_ms_;
  if (rights) next_rights_ms_ = monotonic_ms() + kRightsPeriodMs;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    Housework& work = housework_[i];
    if (store_.is_index_due(i)) post_reconcile(i);
    if (rights) work.rights_due = true;
    if (!work.rights_due && young_.due(i, monotonic_ms()).empty()) continue;
    if (work.posted.exchange(true)) continue;
    if (!samples_.post(i, [this, i] { do_housework(i); })) work.posted = false;
  }
  if (monotonic_ms() < next_sweep_ms_) return;
  next_sweep_ms_ = monotonic_ms() + kJobSweepPeriodMs;
  post_once(job_sweep_posted_, errands_, [runtime = config_.runtime + "/"] {
    sweep_jobs(runtime + kJobsDirectory, runtime + kReportsDirectory);
    prune_reports(runtime + kReportsDirectory);
  });
}

bool Service::stop() {
  stopping_ = true;
  bool watched = written_.stop(Filler::kStopLimit);
  bool told = changes_.stop(Filler::kStopLimit);
  store_.health().stop();
  reads_.stop();
  bool swept = sweep_.stop();
  scrubs_.stop();
  store_.give_up_reconciling();
  reconciling_.stop();
  bool sampled = samples_.stop(Filler::kStopLimit);
  bool asked = questions_.stop(Filler::kStopLimit);
  long_errands_.stop();
  errands_.stop();
  return filler_.stop() && sampled && asked && swept && watched && told;
}

bool Service::stop_writing() {
  std::uint64_t waiting = writer_.figures().waiting, open = written_.count();
  if (waiting + open > 0) {
    log_line(LogLevel::kWarn, "frames_not_pushed",
             {{"waiting", std::to_string(waiting)},
              {"being_written", std::to_string(open)},
              {"what", "the origin has them"},
              {"hint", "zazenctl push DATASET"}});
  }
  return writer_.stop();
}

}  // namespace zazen
