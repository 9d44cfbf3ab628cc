// One epoll, level triggered. A worker is watched for input only while it may ask for more, and
// for output only while messages wait.
#include "daemon/pool/worker_pool.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/requests/wire.h"
#include "daemon/pool/peer_identity.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kListener = 1, kWake = 2, kStop = 3, kLastStop = 4, kForker = 5;
constexpr std::uint64_t kOutput = std::uint64_t{1} << 63;  // with a worker's id: can be sent to
constexpr std::chrono::milliseconds kCloseLimit(200);
constexpr std::int64_t kTickMs = 1'000;
constexpr int kCloserMs = 10;  // to look whether it is behind
constexpr int kAcceptedInARow = 128, kAsksInARow = 64;
// If at least kMostDeaths workers of a user die within kDeathsPeriod, the user gets none until
// the period is over.
constexpr std::size_t kMostDeaths = 20;
constexpr std::chrono::seconds kDeathsPeriod(2);
// A worker that was used within this time is not ended to make room.
constexpr std::chrono::seconds kShortestUse(1);
constexpr std::size_t kMostLast = 1'024;  // users whose groups are remembered

}  // namespace

WorkerPool::WorkerPool(std::string runtime, bool all_users, Forker forker, Owner& owner,
                       WorkerLimits limits)
    : runtime_(std::move(runtime)),
      all_users_(all_users),
      own_uid_(::geteuid()),
      own_gid_(::getegid()),
      forker_(std::move(forker)),
      owner_(owner),
      limits_(limits) {}

Result<std::unique_ptr<WorkerPool>> WorkerPool::listen(const std::string& runtime,
                                                       bool all_users, Forker forker,
                                                       Owner& owner, WorkerLimits limits) {
  std::unique_ptr<WorkerPool> pool(
      new WorkerPool(runtime, all_users, std::move(forker), owner, limits));
  std::string path = runtime + "/" + kSocketFile;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed_call("socket " + path);
  pool->listener_ =
      UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  sockaddr_un address = {};
  socket_address(directory.get(), &address);
  if (!pool->listener_.valid() || !directory.valid() ||
      ::bind(pool->listener_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof address) != 0 ||
      ::chmod(path.c_str(), all_users ? 0666 : 0600) != 0 ||
      ::listen(pool->listener_.get(), kBacklog) != 0) {
    return failed_call("socket " + path);
  }
  pool->epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  pool->wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!pool->epoll_.valid() || !pool->watch(pool->listener_.get(), kListener) ||
      !pool->watch(pool->wake_.get(), kWake) || !pool->watch(pool->forker_.end_fd(), kForker)) {
    return failed_call("epoll");
  }
  // The thread starts here, because the system might refuse it at the stop.
  pool->withdrawn_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  pool->last_stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  pool->last_rounds_ = std::thread([raw = pool.get()] {
    eventfd_t count;
    ::eventfd_read(raw->withdrawn_.get(), &count);
    if (raw->is_withdrawn_) until_no_shortage([raw] { raw->loop({}, {}); });
  });
  return pool;
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::watch(int fd, std::uint64_t id) {
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = id}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void WorkerPool::run(int stop_fd, const std::function<void()>& beat,
                     const std::function<void()>& tick) {
  watch(stop_fd, kStop);  // fails if an earlier run() watches it already
  loop(beat, tick);
}

void WorkerPool::loop(const std::function<void()>& beat, const std::function<void()>& tick) {
  std::int64_t next_beat_ms = monotonic_ms(), next_tick_ms = next_beat_ms;
  std::array<epoll_event, 256> events;
  for (;;) {
    int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                     waits_for_closer_ ? kCloserMs : static_cast<int>(kHeartbeatPeriodMs));
    bool stop = false;
    for (int i = 0; i < std::max(count, 0); ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      switch (event.data.u64) {
        case kStop:
          stop = stop || !is_withdrawn_;
          break;
        case kLastStop:
          return;
        case kForker:
          has_failed_ = true;
          ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, forker_.end_fd(), nullptr);
          log_line(LogLevel::kError, "forker_ended", {{"what", "zazend ends, too"}});
          stop = true;
          break;
        case kListener:
          despite_shortage([&] { accept_clients(); });
          break;
        case kWake: {
          eventfd_t woken;
          ::eventfd_read(wake_.get(), &woken);
          must_watch_again_ = true;
          break;
        }
        default:
          if ((event.data.u64 & kOutput) != 0) {
            must_watch_again_ = true;
          } else if (WorkerPointer worker = find(event.data.u64)) {
            serve(worker, event.events);
          }
      }
    }
    if (must_watch_again_) must_watch_again_ = !despite_shortage([&] { watch_again(); });
    if (stop) return;
    if (waits_for_closer_ && !closer_.is_behind()) go_on_accepting();
    const std::int64_t now_ms = monotonic_ms();
    if (beat && now_ms >= next_beat_ms) {
      next_beat_ms = now_ms + kHeartbeatPeriodMs;
      despite_shortage(beat);
    }
    if (tick && now_ms >= next_tick_ms) {
      next_tick_ms = now_ms + kTickMs;
      go_on_accepting();
      hold_funerals();
      despite_shortage([&] { look_for_silent_workers(); });
      despite_shortage(tick);
    }
  }
}

void WorkerPool::withdraw() {
  // Connections that nobody has accepted may hold descriptors, too.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
  closer_.close(own_uid_, std::move(listener_));
  ::unlink((runtime_ + "/" + kSocketFile).c_str());
  is_withdrawn_ = true;
  watch(last_stop_.get(), kLastStop);
  ::eventfd_write(withdrawn_.get(), 1);
}

void WorkerPool::stop() {
  std::vector<WorkerPointer> left;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [id, worker] : workers_) left.push_back(worker);
  }
  for (const WorkerPointer& worker : left) worker->end_orders();
  if (last_rounds_.joinable()) {
    ::eventfd_write(last_stop_.get(), 1);
    ::eventfd_write(withdrawn_.get(), 1);
    last_rounds_.join();
  }
  for (const WorkerPointer& worker : left) mark_dead(worker);
  funerals_.stop(WorkQueue::kForEver, WorkQueue::Queued::kDone);
  is_closing_ = !closer_.stop(kCloseLimit);
}

// ---- Connections

void WorkerPool::accept_clients() {
  if (closer_.is_behind()) {  // the kernel keeps the connections
    waits_for_closer_ = true;
    return pause_accepting();
  }
  for (int i = 0; i < kAcceptedInARow; ++i) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      return pause_accepting();  // descriptors or memory are short
    }
    pass_on(std::move(socket));
  }
}

// Until the next tick, unless it goes on before.
void WorkerPool::pause_accepting() {
  is_accepting_ = false;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
}

void WorkerPool::go_on_accepting() {
  waits_for_closer_ = false;
  if (!std::exchange(is_accepting_, true) && listener_.valid()) {
    watch(listener_.get(), kListener);
  }
}

void WorkerPool::pass_on(UniqueFd socket) {
  const std::optional<ConnectedPeer> peer = identify_peer(socket.get());
  const uid_t uid = peer ? peer->credentials.uid : ~uid_t{0};
  despite_shortage([&] {
    if (!peer || (!all_users_ && uid != own_uid_)) return;
    // A second attempt gets a new worker if the first one has just left.
    for (int i = 0; i < 2 && socket.valid(); ++i) {
      WorkerPointer worker = find_or_start(peer->credentials, !all_users_, false);
      if (!worker) return;
      std::lock_guard lock(worker->mutex_);
      worker->enqueue_connection(socket, peer->pid);
    }
  });
  closer_.close(uid, std::move(socket));  // if it could not be passed on
}

// ---- Workers

WorkerPool::WorkerPointer WorkerPool::find(WorkerId worker) const {
  std::lock_guard lock(mutex_);
  auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : found->second;
}

WorkerPool::WorkerPointer WorkerPool::find_or_start(const WorkerCredentials& credentials,
                                                    bool any_groups, bool is_for_zazend) {
  std::lock_guard lock(mutex_);
  if (stopping_) return nullptr;
  auto is_usable = [this](WorkerId id) {
    const WorkerPointer& worker = workers_.at(id);
    std::lock_guard worker_lock(worker->mutex_);
    return !worker->is_gone_ && !worker->has_left_;
  };
  if (any_groups) {
    for (const auto& [known, id] : by_credentials_) {
      if (known.uid == credentials.uid && !known.is_listener && is_usable(id)) {
        return workers_.at(id);
      }
    }
  } else if (auto found = by_credentials_.find(credentials);
             found != by_credentials_.end() && is_usable(found->second)) {
    return workers_.at(found->second);
  }
  if (!make_room_for(credentials, is_for_zazend || credentials.uid == own_uid_)) return nullptr;
  return start(credentials);
}

// False: there are too many workers, or those of this user die too often.
bool WorkerPool::make_room_for(const WorkerCredentials& credentials, bool is_for_zazend) {
  const auto of_user =
      static_cast<std::size_t>(std::ranges::count_if(workers_, [&](const auto& one) {
        return one.second->credentials_.uid == credentials.uid;
      }));
  bool has_place = true;
  if (of_user >= limits_.of_a_user) {
    has_place = make_way(credentials.uid);
  } else if (workers_.size() >= limits_.in_all + (is_for_zazend ? limits_.reserved : 0)) {
    has_place = make_way(std::nullopt);
  }
  if (!has_place) {
    log_line(LogLevel::kWarn, "too_many_workers",
             {{"uid", std::to_string(credentials.uid)},
              {"workers", std::to_string(workers_.size())}});
  }
  return has_place && !dies_too_often(credentials.uid);
}

// Ends the worker that has been unused longest. False: none has been unused for long enough.
bool WorkerPool::make_way(std::optional<uid_t> of_user) {
  WorkerPointer last;
  Clock::time_point used_at = Clock::now() - kShortestUse;
  for (const auto& [id, worker] : workers_) {
    const WorkerCredentials& credentials = worker->credentials_;
    if (credentials.is_listener || credentials.uid != of_user.value_or(credentials.uid))
      continue;
    if (!of_user && credentials.uid == own_uid_) continue;
    std::lock_guard lock(worker->mutex_);
    if (worker->asks_ > 0 || worker->used_at_ > used_at) continue;
    used_at = worker->used_at_;
    last = worker;
  }
  if (last) bury_locked(last);
  return last != nullptr;
}

bool WorkerPool::dies_too_often(uid_t uid) {
  std::erase_if(
      deaths_, [](const auto& one) { return Clock::now() - one.second.since > kDeathsPeriod; });
  auto deaths = deaths_.find(uid);
  return deaths != deaths_.end() && deaths->second.count >= kMostDeaths;
}

WorkerPool::WorkerPointer WorkerPool::start(const WorkerCredentials& credentials) {
  Result<LinkEnds> ends = make_link();
  if (!ends) return nullptr;
  const UniqueFd receive = std::move(ends->worker_receive);
  const UniqueFd send = std::move(ends->worker_send);
  const WorkerId id = next_id_++;
  auto worker =
      std::make_shared<Worker>(id, credentials, std::move(*ends), wake_.get(), closer_);
  if (int code = forker_.start_worker(id, credentials, receive, send); code != 0) {
    log_line(LogLevel::kError, "no_worker", {{"error", std::strerror(code)}});
    return nullptr;
  }
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = id}};
  worker->watched_ = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, worker->receive_.get(), &event) != 0) {
    return nullptr;
  }
  LinkPacket first = owner_.first_order(credentials);
  {
    std::lock_guard lock(worker->mutex_);
    worker->enqueue(first);
  }
  workers_.emplace(id, worker);
  by_credentials_[credentials] = id;
  const bool is_known = last_credentials_.contains(credentials.uid);
  if (!credentials.looks_up_groups && !credentials.is_listener &&
      (is_known || last_credentials_.size() < kMostLast)) {
    last_credentials_[credentials.uid] = credentials;
  }
  return worker;
}

WorkerId WorkerPool::worker_of(uid_t uid, gid_t gid) {
  WorkerCredentials credentials{uid, gid, {}, true};
  if (!all_users_) credentials.uid = own_uid_;
  WorkerPointer worker = find_or_start(credentials, true, true);
  return worker ? worker->id() : 0;
}

WorkerId WorkerPool::start_listener(bool serves_metrics) {
  WorkerCredentials credentials{kNobody, kNobody, {}, false, true, serves_metrics};
  // Writers of the same machine may trust a node if the user whom they expect owns the socket.
  if (!all_users_) std::tie(credentials.uid, credentials.gid) = std::pair(own_uid_, own_gid_);
  WorkerPointer worker = find_or_start(credentials, false, true);
  return worker ? worker->id() : 0;
}

// The forker comes first: a worker that starts meanwhile has either the new file or a place in
// the list.
void WorkerPool::write_log_to(const UniqueFd& log) {
  forker_.write_log_to(log);
  std::vector<WorkerId> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) all.push_back(id);
  }
  for (const WorkerId id : all) {
    tell(id, WriteLog{}, UniqueFd(::fcntl(log.get(), F_DUPFD_CLOEXEC, 0)));
  }
}

std::vector<WorkerFigures> WorkerPool::figures(const Worker& asking,
                                               std::chrono::milliseconds limit) {
  const auto is_users = [&](const Worker& worker) {
    return &worker != &asking && worker.credentials_.uid == asking.credentials_.uid;
  };
  for (const auto& [worker, reply] :
       exchange_all(packet_of(ReportFigures{}), limit, is_users)) {
    WorkerFigures own;
    if (decode_link_body(reply.body, &own)) worker->note(std::move(own));
  }
  std::vector<WorkerPointer> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) all.push_back(worker);
  }
  std::vector<WorkerFigures> figures;
  for (const WorkerPointer& worker : all) {
    std::lock_guard lock(worker->mutex_);
    figures.push_back(worker->figures_);
  }
  return figures;
}

void WorkerPool::serve(const WorkerPointer& worker, std::uint32_t events) {
  bool keep = true;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    keep = false;
    despite_shortage([&] { keep = read_asks(*worker); });
  }
  if (!keep) return mark_dead(worker);
  if (worker->asks_ >= Worker::kMostAsks) {  // watch_again() brings it back
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker->receive_.get(), nullptr);
    worker->watched_ = 0;
    if (worker->asks_ < Worker::kMostAsks / 2) ::eventfd_write(wake_.get(), 1);
  } else if (worker->reader_.has_packet()) {  // after the other workers' turn
    ::eventfd_write(wake_.get(), 1);
  }
}

bool WorkerPool::read_asks(Worker& worker) {
  for (int i = 0; i < kAsksInARow && worker.asks_ < Worker::kMostAsks; ++i) {
    LinkPacket packet;
    worker.silent_ticks_ = 0;
    switch (worker.reader_.next(worker.receive_.get(), &packet)) {
      case LinkReader::Got::kNothing:
        return true;
      case LinkReader::Got::kClosed:
        return false;
      case LinkReader::Got::kMalformed:
        log_line(LogLevel::kError, "worker_broke_the_rules",
                 {{"uid", std::to_string(worker.credentials_.uid)}});
        return false;
      case LinkReader::Got::kPacket:
        break;
    }
    if (packet.is_reply) {
      std::lock_guard lock(worker.mutex_);
      worker.take_reply(std::move(packet));
      continue;
    }
    // Any thread that sends the worker a descriptor holds the lock until its own descriptor is
    // closed. So after this lock only the worker can have a file open that it reports as
    // written.
    { std::lock_guard lock(worker.mutex_); }
    ++worker.asks_;
    if (!owner_.take(worker, std::move(packet))) {
      log_line(LogLevel::kError, "worker_broke_the_rules",
               {{"uid", std::to_string(worker.credentials_.uid)}});
      return false;
    }
  }
  return true;
}

// Watches workers that have messages waiting or may ask again, and serves those that have
// packets in their buffers.
void WorkerPool::watch_again() {
  std::vector<WorkerPointer> all, lost, unread;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) all.push_back(worker);
  }
  for (const WorkerPointer& worker : all) {
    if (worker->watched_ == 0 && worker->asks_ < Worker::kMostAsks) {
      epoll_event event = {.events = EPOLLIN, .data = {.u64 = worker->id_}};
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, worker->receive_.get(), &event);
      worker->watched_ = EPOLLIN;
    }
    if (worker->watched_ != 0 && worker->reader_.has_packet()) unread.push_back(worker);
    std::lock_guard lock(worker->mutex_);
    if (worker->has_lost_ || !worker->send_waiting()) lost.push_back(worker);
    if (!worker->has_waiting()) continue;
    epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT,
                         .data = {.u64 = worker->id_ | kOutput}};
    const int operation = worker->is_output_watched_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    ::epoll_ctl(epoll_.get(), operation, worker->send_.get(), &event);
    worker->is_output_watched_ = true;
  }
  for (const WorkerPointer& worker : lost) mark_dead(worker);
  for (const WorkerPointer& worker : unread) serve(worker, EPOLLIN);
}

// Kills workers that say nothing: the user, or a debugger, may have stopped them. Ticks count
// instead of time, because zazend may have been stopped as well.
void WorkerPool::look_for_silent_workers() {
  std::vector<WorkerPointer> silent;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) {
      std::lock_guard worker_lock(worker->mutex_);
      // A worker whose asks are not read may still have to take its messages.
      const bool may_speak = worker->watched_ != 0 || worker->has_waiting();
      if (may_speak && ++worker->silent_ticks_ > limits_.silent_seconds) {
        silent.push_back(worker);
      }
    }
  }
  for (const WorkerPointer& worker : silent) {
    log_line(LogLevel::kWarn, "worker_is_silent",
             {{"uid", std::to_string(worker->credentials_.uid)}, {"what", "it is killed"}});
    mark_dead(worker);
  }
}

void WorkerPool::mark_dead(const WorkerPointer& worker) {
  std::lock_guard lock(mutex_);
  if (!workers_.contains(worker->id_)) return;
  if (!worker->has_left_) {
    despite_shortage([&] {
      Deaths& deaths = deaths_[worker->credentials_.uid];
      if (deaths.count++ == 0) deaths.since = Clock::now();
    });
  }
  bury_locked(worker);
}

void WorkerPool::bury_locked(const WorkerPointer& worker) {
  dead_.insert(workers_.extract(worker->id_));  // this move needs no memory
  auto known = by_credentials_.find(worker->credentials_);
  if (known != by_credentials_.end() && known->second == worker->id_) {
    by_credentials_.erase(known);
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker->receive_.get(), nullptr);
  worker->end_orders();
  forker_.kill_worker(worker->id_);
  hold_funerals_locked();
}

void WorkerPool::hold_funerals() {
  std::lock_guard lock(mutex_);
  hold_funerals_locked();
}

// Workers for which memory is short follow at the next tick.
void WorkerPool::hold_funerals_locked() {
  for (auto& [id, worker] : dead_) {
    if (worker->is_buried_) continue;
    auto funeral = [this, worker = worker.get()] {
      worker->stop_threads();
      owner_.worker_ended(worker->id_, worker->credentials_, worker->figures_,
                          worker->has_left_);
      worker->drop_waiting();
      std::unique_lock ending(mutex_);
      const auto last = dead_.extract(worker->id_);
      ending.unlock();
    };
    worker->is_buried_ = despite_shortage([&] { funerals_.post(funeral); });
  }
}

// ---- Orders

int WorkerPool::exchange(WorkerId id, LinkPacket& packet, std::uint32_t dataset,
                         std::chrono::milliseconds limit) {
  const WorkerPointer worker = find(id);
  return worker ? worker->exchange(packet, dataset, limit) : EPIPE;
}

std::vector<std::pair<WorkerPool::WorkerPointer, LinkPacket>> WorkerPool::exchange_all(
    const LinkPacket& order, std::chrono::milliseconds limit, const Whom& whom) {
  const Clock::time_point deadline = Clock::now() + limit;
  std::vector<std::pair<WorkerPointer, std::shared_ptr<Worker::Order>>> asked;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) {
      if (whom(*worker)) asked.emplace_back(worker, nullptr);
    }
  }
  for (auto& [worker, sent] : asked) sent = worker->begin_order(order);
  std::vector<std::pair<WorkerPointer, LinkPacket>> replies;
  for (const auto& [worker, sent] : asked) {
    std::optional<LinkPacket> reply = sent ? worker->end_order(sent, deadline) : std::nullopt;
    if (reply && reply->status == 0) replies.emplace_back(worker, std::move(*reply));
  }
  return replies;
}

bool WorkerPool::tell_worker(WorkerId id, LinkPacket packet, bool is_use) {
  const WorkerPointer worker = find(id);
  if (!worker) return false;
  std::lock_guard lock(worker->mutex_);
  return worker->enqueue(packet, is_use);
}

bool WorkerPool::tell_workers_of(uid_t uid, const LinkPacket& order, bool with_all_groups) {
  std::set<WorkerCredentials> whom;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [credentials, id] : by_credentials_) {
      if (credentials.uid == uid && !credentials.is_listener) whom.insert(credentials);
    }
    const auto last = last_credentials_.find(uid);
    if (last != last_credentials_.end() && (with_all_groups || whom.empty())) {
      whom.insert(last->second);
    }
  }
  const bool has_account_groups =
      std::ranges::any_of(whom, [](const auto& one) { return one.looks_up_groups; });
  if (whom.empty() || (with_all_groups && !has_account_groups)) {
    whom.insert({uid, kNobody, {}, true});
  }
  bool is_told = true;
  for (const WorkerCredentials& credentials : whom) {
    const WorkerPointer worker = find_or_start(credentials, false, true);
    is_told = worker && tell_worker(worker->id(), order.copy(), with_all_groups) && is_told;
  }
  return is_told;
}

}  // namespace zazen
