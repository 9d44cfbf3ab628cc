// What zazend has its workers find out at the origins. A worker answers within a limit, or it
// is as if the origin did not answer; the limit is waited for on threads that serve this user,
// or this dataset's housekeeping, only.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/origin/adoption.h"
#include "daemon/origin/user_directories.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/service/service.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCompareLimit(10'000);  // kMostCompared copies of a dataset
constexpr milliseconds kFollowLimit(3'000);    // the worker gives up after a second
constexpr milliseconds kExpandLimit(5'000), kSliceLimit(500);
constexpr int kMostFindings = 30;  // looks, one in a second
constexpr std::size_t kMostLooked = 64;

Configure peer_keys_of(const Config& config) {
  Configure keys;
  keys.peers = config.peers;
  keys.has_peers = config.has_peers;
  keys.writer_memory_bytes = config.writer_memory_bytes;
  keys.writer_timeout_ms = config.writer_timeout_ms;
  return keys;
}

}  // namespace

Configure Service::configuration() {
  std::unique_lock lock(mutex_);
  Configure configure = peer_keys_;
  lock.unlock();
  for (const DatasetConfig& one : config_.datasets) {
    configure.datasets.push_back({one.path, one.frames, one.also, one.push, one.removed});
  }
  return configure;
}

void Service::start(WorkerPool& pool) {
  pool_ = &pool;
  origins_.start(pool);
  peer_keys_ = peer_keys_of(config_);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) take_up(i);
  sweep_.start();
  changes_.greet(false);
  findings_left_ = kMostFindings;
}

void Service::log_findings() {
  Problems::Reply found;
  --findings_left_;
  if (pool_->order(pool_->own_worker(), Problems{}, &found, OriginQuestions::kLimit) != 0)
    return;
  if (found.is_whole) findings_left_ = 0;
  auto log = [this](const char* event, const std::string& text) {
    if (!logged_findings_.insert(text).second) return;
    log_line(LogLevel::kWarn, event, {{"what", text}});
  };
  for (const std::string& problem : found.problems) log("problem", problem);
  for (const std::string& warning : found.warnings) log("warning", warning);
}

void Service::renew(const Config& next) {
  {
    std::lock_guard lock(mutex_);
    peer_keys_ = peer_keys_of(next);
  }
  renew_datasets();
}

void Service::renew_datasets() {
  pool_->order_all(configuration(), OriginQuestions::kLimit, WorkerPool::everybody);
  findings_left_ = kMostFindings;
}

std::vector<std::string> Service::follow_links(const std::vector<std::string>& paths) {
  FollowPaths::Reply reply;
  const int code = pool_->order(pool_->own_worker(), FollowPaths{paths}, &reply, kFollowLimit);
  return code == 0 && reply.paths.size() == paths.size() ? reply.paths : paths;
}

// The worker answers soon, with what it has found by then, and goes on looking.
std::vector<ExpandedPath> Service::expand_paths(const std::vector<std::string>& patterns,
                                                const std::function<bool()>& is_wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kExpandLimit;
  std::vector<ExpandedPath> expanded(patterns.size());
  std::size_t known = 0;
  do {
    for (std::size_t i = 0; i < patterns.size() && is_wanted(); ++i) {
      if (expanded[i].is_known) continue;
      ExpandPath::Reply reply;
      const int code =
          pool_->order(pool_->own_worker(), ExpandPath{patterns[i]}, &reply, kSliceLimit);
      if (code != 0 || !reply.is_known) continue;
      expanded[i] = {true, std::move(reply.paths)};
      ++known;
    }
  } while (known < patterns.size() && is_wanted() &&
           std::chrono::steady_clock::now() < deadline);
  return expanded;
}

// ---- Comparisons

int Service::sample(WorkerId worker, std::uint32_t dataset) {
  if (store_.serves_all_users()) {
    origins_.mirror_rights(dataset, worker);
    origins_.mirror_rights_of_names(dataset);
    // Root may be nobody at the origin: there the frames' owners look.
    const auto credentials = pool_->credentials_of(worker);
    if (credentials && credentials->uid == ::geteuid()) worker = 0;
  }
  SampleResult result = compare_sample(store_, dataset, origins_.comparer(worker));
  // First of all: a new copy in the place of a stale one looks as though all were well.
  if (!result.stale.empty()) trust_.doubt(dataset, kStale);
  settle(dataset, result);
  if (result.status == 0) publisher_.note_sample(dataset);
  return result.status;
}

void Service::compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames) {
  bool posted = samples_.post(dataset, [=, this] {
    settle(dataset, compare_frames(store_, dataset, frames, origins_.comparer(0)));
  });
  if (!posted) doubt(dataset);
}

void Service::settle(std::uint32_t dataset, const SampleResult& result) {
  if (!result.arrived.empty()) adopt_arrived(dataset, result.arrived);
  if (result.stale.empty()) return;
  log_line(LogLevel::kWarn, "stale_copies",
           {{"dataset", config_.datasets[dataset].path},
            {"compared", std::to_string(result.compared)},
            {"stale", std::to_string(result.stale.size())}});
  changes_.found_stale(dataset, result.stale);
  store_.drop_exactly(dataset, result.stale);
}

// By the worker of the directory's owner, whoever has asked: it learns nothing of the content.
void Service::adopt_arrived(std::uint32_t dataset, const std::vector<FrameSeq>& frames) {
  const WorkerId by = origins_.worker_for(dataset);
  for (FrameSeq seq : frames) {
    const UniqueFd copy = store_.open_copy(dataset, seq);
    struct stat local = {};
    if (!copy.valid() || ::fstat(copy.get(), &local) != 0) continue;
    const auto size = static_cast<std::uint64_t>(local.st_size);
    Look order{dataset, {{seq, size}}};
    Look::Reply reply;
    const int code = pool_->order(by, order, &reply, OriginQuestions::kLimit);
    if (code == ETIMEDOUT) break;
    if (code != 0 || reply.looks.empty()) continue;
    OriginLook& look = reply.looks[0];
    compare_digest(copy.get(), size, look);
    if (look.status == 0) (void)cache_.adopt_known(by, dataset, seq, look.origin);
  }
}

// ---- Writers

// An earlier daemon or worker has left them so: writers may be there still, or may have changed
// them.
void Service::watch_suspended(std::uint32_t dataset) {
  for (FrameSeq seq : store_.suspended(dataset)) {
    samples_.post(dataset, [this, dataset, seq] {
      OriginIdentity copy = {};
      int status = store_.read_copy_identity(dataset, seq, &copy);
      WatchWriters order;
      order.dataset = dataset;
      order.seq = seq;
      NoReply reply;
      if (status == 0) {
        const WorkerId owner = pool_->worker_of(copy.uid, copy.gid);
        status = pool_->order(owner, order, &reply, kCompareLimit);
      }
      if (status != 0 && !stopping_ && store_.is_suspended(dataset, seq)) {
        drop_changed(dataset, seq, PeerChanges::kChanged);
      }
    });
  }
}

// ---- Content that came over the network

// One worker of zazend's own user talks to the peers, as long as it is there. Another one says
// that it lives, and what is not known to have been told.
void Service::tell_peers(const TellPeers& news) {
  std::unique_lock lock(mutex_);
  const WorkerId before = peers_worker_;
  lock.unlock();  // the pool is never asked with it
  const WorkerId worker = pool_->credentials_of(before) ? before : pool_->own_worker();
  lock.lock();
  peers_worker_ = worker;
  lock.unlock();
  if (worker != before) changes_.greet(before != 0);
  if (!pool_->tell(worker, news)) has_lost_news_ = true;
}

// The peers compare all their copies.
void Service::tell_of_lost_news() {
  if (has_lost_news_.exchange(false)) changes_.greet(true);
}

void Service::listen(PushSockets sockets) {
  push_sockets_ = std::move(sockets);
  start_listener();
}

void Service::start_listener() {
  listener_ = 0;
  std::vector<UniqueFd> sockets;
  for (const UniqueFd& socket : push_sockets_.sockets) {
    sockets.emplace_back(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    if (!sockets.back().valid()) return;  // the next tick tries again
  }
  listener_ = pool_->start_listener();
  for (UniqueFd& socket : sockets) {
    pool_->tell(listener_, Listen{push_sockets_.methods, ::geteuid()}, std::move(socket));
  }
}

void Service::serve_metrics(UniqueFd socket) {
  metrics_socket_ = std::move(socket);
  start_metrics();
}

void Service::start_metrics() {
  metrics_worker_ = 0;
  UniqueFd socket(::fcntl(metrics_socket_.get(), F_DUPFD_CLOEXEC, 0));
  if (!socket.valid()) return;  // the next tick tries again
  metrics_worker_ = pool_->start_listener(true);
  pool_->tell(metrics_worker_, ServeMetrics{}, std::move(socket));
}

void Service::take_pushes(std::uint32_t dataset, std::list<Received>& arrived) {
  std::lock_guard lock(mutex_);
  std::list<Received>& queue = received_[dataset];
  // Otherwise the thread that comes for those before them takes them, too.
  if (queue.empty()) {
    looks_.post(
        dataset, [this, dataset] { place_received(dataset); }, WorkQueue::kAnyNumber);
  }
  queue.splice(queue.end(), arrived);
}

void Service::place_received(std::uint32_t dataset) {
  std::list<Received> batch;
  for (;;) {
    batch.clear();
    {
      std::lock_guard lock(mutex_);
      std::list<Received>& queue = received_[dataset];
      const auto most = static_cast<std::ptrdiff_t>(std::min(queue.size(), kMostLooked));
      batch.splice(batch.end(), queue, queue.begin(), std::next(queue.begin(), most));
    }
    if (batch.empty()) return;
    const bool done = despite_shortage([&] {
      std::vector<ContentToLook> contents;
      for (const Received& one : batch) contents.push_back({one.seq, one.content.bytes});
      const WorkerId worker = origins_.worker_for(dataset);
      std::vector<OriginLook> looks = origins_.look_at(worker, dataset, contents);
      auto look = looks.begin();
      for (Received& one : batch) {
        OriginLook& seen = *look++;
        compare_digest(one.content.file.fd(), one.content.bytes, seen);
        cache_.take_received(worker, dataset, one.seq, std::move(one.content), seen,
                             std::exchange(one.done, nullptr));
      }
    });
    if (done) continue;
    for (const Received& one : batch) {
      if (one.done) one.done(ENOMEM);
    }
  }
}

// ---- Jobs

void Service::sweep_jobs(milliseconds limit) {
  std::map<uid_t, gid_t> owners;
  for (const char* name : {kJobsDirectory, kReportsDirectory}) {
    for (const auto& [uid, gid] : owners_of_entries(config_.runtime + "/" + name)) {
      owners.emplace(uid, gid);
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (const auto& [uid, gid] : owners) {
    const auto left =
        std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    NoReply reply;
    if (left.count() > 0) pool_->order(pool_->worker_of(uid, gid), SweepJobs{}, &reply, left);
  }
}

}  // namespace zazen
