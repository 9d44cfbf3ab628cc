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
constexpr int kMostFindings = 30;              // looks, one in a second
constexpr std::size_t kMostCompared = 256, kMostVerified = 64, kMostLooked = 64;

Configure peer_keys_of(const Config& config) {
  Configure keys;
  keys.peers = config.peers;
  keys.has_peers = config.has_peers;
  keys.writer_memory_bytes = config.writer_memory_bytes;
  keys.writer_timeout_ms = config.writer_timeout_ms;
  return keys;
}

template <class T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t first, std::size_t most) {
  auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, all.size() - first))};
}

}  // namespace

LinkPacket Service::configuration() {
  std::unique_lock lock(mutex_);
  Configure configure = peer_keys_;
  lock.unlock();
  for (const DatasetConfig& one : config_.datasets) {
    configure.datasets.push_back({one.path, one.frames, one.also, one.push, one.removed});
  }
  LinkPacket packet;
  packet.type = Configure::kType;
  packet.body = encode_link_body(configure);
  return packet;
}

void Service::start(WorkerPool& pool) {
  pool_ = &pool;
  peer_keys_ = peer_keys_of(config_);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) take_up(i);
  sweep_.start();
  changes_.greet(false);
  findings_left_ = kMostFindings;
}

void Service::log_findings() {
  Problems::Reply found;
  --findings_left_;
  if (pool_->order(pool_->own_worker(), Problems{}, &found, kOriginLimit) != 0) return;
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
  const LinkPacket packet = configuration();
  pool_->exchange_all(packet.type, packet.body, kOriginLimit, {}, WorkerPool::everybody);
  findings_left_ = kMostFindings;
}

std::vector<std::string> Service::follow_links(const std::vector<std::string>& paths) {
  FollowPaths::Reply reply;
  const int code = pool_->order(pool_->own_worker(), FollowPaths{paths}, &reply, kFollowLimit);
  return code == 0 && reply.paths.size() == paths.size() ? reply.paths : paths;
}

WorkerId Service::worker_for(std::uint32_t dataset) {
  if (!store_.serves_all_users()) return pool_->own_worker();
  const auto owner = store_.directory_owner(dataset);
  return owner ? pool_->worker_of(owner->first, owner->second) : pool_->own_worker();
}

// ---- Comparisons

CompareAtOrigin Service::comparer(WorkerId worker) {
  return [this, worker](std::uint32_t dataset, const std::vector<CopyToCompare>& copies,
                        std::size_t threads, std::vector<Comparison>* outcomes) {
    outcomes->assign(copies.size(), Comparison::kUnknown);
    // By whom, and which of the copies.
    std::map<std::pair<uid_t, gid_t>, std::vector<std::size_t>> by_owner;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const OriginIdentity& identity = copies[i].identity;
      const bool is_shared = worker != 0 || copies[i].is_waiting;
      by_owner[is_shared ? std::pair<uid_t, gid_t>() : std::pair(identity.uid, identity.gid)]
          .push_back(i);
    }
    if (copies.empty()) by_owner[{}];  // can the origin be asked at all?
    int status = 0;
    for (const auto& [owner, places] : by_owner) {
      const bool is_owners = worker == 0 && owner != std::pair<uid_t, gid_t>();
      const WorkerId by = worker != 0 ? worker
                          : is_owners ? pool_->worker_of(owner.first, owner.second)
                                      : worker_for(dataset);
      for (std::size_t first = 0; first == 0 || first < places.size(); first += kMostCompared) {
        Compare order{dataset, static_cast<std::uint32_t>(threads), {}};
        const std::vector<std::size_t> part = part_of(places, first, kMostCompared);
        for (std::size_t i : part) order.copies.push_back(copies[i]);
        Compare::Reply reply;
        int code = pool_->order(by, order, &reply, kCompareLimit);
        // The owner of a frame need not reach the dataset.
        if (is_owners && (code == EACCES || code == EPERM || code == ENOENT)) {
          code = pool_->order(worker_for(dataset), order, &reply, kCompareLimit);
        }
        if (code != 0) {
          status = code;
          break;
        }
        for (std::size_t i = 0; i < std::min(part.size(), reply.outcomes.size()); ++i) {
          (*outcomes)[part[i]] = reply.outcomes[i];
        }
      }
    }
    return status;
  };
}

int Service::sample(WorkerId worker, std::uint32_t dataset) {
  if (store_.serves_all_users()) {
    mirror_rights(dataset, worker);
    mirror_rights_of_names(dataset);
    // Root may be nobody at the origin: there the frames' owners look.
    const auto credentials = pool_->credentials_of(worker);
    if (credentials && credentials->uid == ::geteuid()) worker = 0;
  }
  SampleResult result = compare_sample(store_, dataset, comparer(worker));
  // First of all: a new copy in the place of a stale one looks as though all were well.
  if (!result.stale.empty()) trust_.doubt(dataset, kStale);
  settle(dataset, result);
  if (result.status == 0) publisher_.note_sample(dataset);
  return result.status;
}

void Service::compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames) {
  bool posted = samples_.post(dataset, [=, this] {
    settle(dataset, compare_frames(store_, dataset, frames, comparer(0)));
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
  const WorkerId by = worker_for(dataset);
  for (FrameSeq seq : frames) {
    const UniqueFd copy = store_.open_copy(dataset, seq);
    struct stat local = {};
    if (!copy.valid() || ::fstat(copy.get(), &local) != 0) continue;
    const auto size = static_cast<std::uint64_t>(local.st_size);
    Look order{dataset, {{seq, size}}};
    Look::Reply reply;
    const int code = pool_->order(by, order, &reply, kOriginLimit);
    if (code == ETIMEDOUT) break;
    if (code != 0 || reply.looks.empty()) continue;
    OriginLook& look = reply.looks[0];
    compare_digest(copy.get(), size, look);
    if (look.status == 0) (void)cache_.adopt_known(by, dataset, seq, look.origin);
  }
}

// What the worker does not say is stale.
void Service::verify(WorkerId worker, std::span<FinishedCopy> batch) {
  std::map<std::uint32_t, std::vector<FinishedCopy*>> by_dataset;
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && !copy.waits) by_dataset[copy.dataset].push_back(&copy);
  }
  for (const auto& [dataset, copies] : by_dataset) {
    for (std::size_t first = 0; first < copies.size(); first += kMostVerified) {
      const std::vector<FinishedCopy*> part = part_of(copies, first, kMostVerified);
      VerifyOrigins order{dataset, {}};
      for (const FinishedCopy* copy : part) {
        order.frames.push_back(
            {copy->seq, copy->identity, copy->reached, copy->kind == FrameKind::kAlien});
      }
      VerifyOrigins::Reply reply;
      if (pool_->order(worker, order, &reply, kOriginLimit) != 0) reply.are_current.clear();
      reply.are_current.resize(part.size(), 0);
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (reply.are_current[i] != 1) part[i]->status = ESTALE;
      }
    }
  }
}

// ---- Rights

// The owner's word counts before that of another user, whose worker might say anything. Where
// the owner does not reach the directory any more, it is another one. While the owner's worker
// does not answer, everything stays as it is.
void Service::mirror_rights(std::uint32_t dataset, WorkerId worker) {
  std::vector<WorkerId> candidates;
  if (const auto owner = store_.directory_owner(dataset)) {
    candidates.push_back(pool_->worker_of(owner->first, owner->second));
  }
  if (worker != 0) candidates.push_back(worker);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint64_t look = store_.begin_look(dataset);
    Rights::Reply reply;
    if (pool_->order(candidates[i], Rights{dataset}, &reply, kOriginLimit) != 0) return;
    if (!reply.is_known) return;
    const bool is_last = i + 1 == candidates.size() || candidates[i] == candidates[i + 1];
    if (!reply.rights.frame_directory && !is_last) continue;
    return store_.mirror_own_rights(dataset, look, reply.rights);
  }
}

void Service::mirror_rights_of_names(std::uint32_t dataset) {
  const std::vector<FrameSeq> frames = store_.next_names_to_mirror(dataset);
  for (std::size_t first = 0; first < frames.size(); first += kMostVerified) {
    const std::vector<FrameSeq> part = part_of(frames, first, kMostVerified);
    NameRights::Reply reply;
    if (pool_->order(worker_for(dataset), NameRights{dataset, part}, &reply, kOriginLimit) != 0)
      return;
    store_.mirror_rights_of_names(dataset, part, reply.rights);
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
  listener_ = pool_->start_listener();
  for (const UniqueFd& socket : push_sockets_.sockets) {
    pool_->tell(listener_, Listen{push_sockets_.methods, ::geteuid()}, socket);
  }
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

// What the worker of the directory's owner sees there, as one question as far as that goes
// quickly. If there is no answer nothing is known of a frame.
std::vector<OriginLook> Service::look_at(WorkerId worker, std::uint32_t dataset,
                                         const std::vector<ContentToLook>& contents) {
  std::vector<OriginLook> looks;
  while (looks.size() < contents.size()) {
    const std::vector<ContentToLook> rest = part_of(contents, looks.size(), contents.size());
    Look::Reply reply;
    if (pool_->order(worker, Look{dataset, rest}, &reply, kOriginLimit) == 0) {
      reply.looks.resize(std::clamp<std::size_t>(reply.looks.size(), 1, rest.size()));
    } else if (rest.size() > 1) {
      // One of them hangs: each is asked about alone.
      for (const ContentToLook& one : rest) looks.push_back(look_at(worker, dataset, {one})[0]);
    } else {
      reply.looks.resize(1);
    }
    std::ranges::move(reply.looks, std::back_inserter(looks));
  }
  return looks;
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
      const WorkerId worker = worker_for(dataset);
      std::vector<OriginLook> looks = look_at(worker, dataset, contents);
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
