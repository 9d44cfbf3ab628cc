// WorkerPool: the socket of zazend, and its workers (D23).
//
// One thread runs it. The thread accepts connections, gets the client's identity from the
// kernel, and passes each connection on to the worker with these credentials. It reads nothing
// from a client, and ConnectionCloser closes zazend's own descriptor. The thread also reads the
// asks of workers and hands each over to threads of that worker: the requests of one user delay
// no other user's.
//
// Nothing blocks this thread. It stops reading from a worker while kMostAsks of its asks are
// not answered, or while the worker does not take the answers. It kills a worker that breaks
// the rules, or that is silent for a while.
//
// There is a limit for the workers of a user and one for all. At a limit, a new worker replaces
// the one that was last asked longest ago, if that is over a second. Otherwise the connection
// is closed, and the program reads the origin.
//
// order() asks a worker and waits, up to a limit. All such waits end with the worker or with
// stop(). Thread safe but for run().
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "daemon/link/link.h"
#include "daemon/pool/forker.h"
#include "daemon/pool/running_worker.h"
#include "daemon/threads/connection_closer.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

struct WorkerLimits {
  std::size_t of_a_user = 8, in_all = 256;
  std::size_t reserved = 64;        // more, for zazend's user and its own orders
  std::size_t silent_seconds = 20;  // a worker reports every second
};

class WorkerPool {
 public:
  static constexpr int kBacklog = 4096;

  using Worker = RunningWorker;
  class Owner {  // of the workers: it answers what they ask
   public:
    virtual ~Owner() = default;
    // Returns the first order for a new worker.
    virtual LinkPacket first_order(const WorkerCredentials& credentials) = 0;
    // Takes an ask of a worker, on the serving thread. False: no worker of ours asks this.
    virtual bool take(Worker& worker, LinkPacket packet) = 0;
    // A worker has ended. Called on another thread, when none of its asks or orders is under
    // way.
    virtual void worker_ended(WorkerId worker, const WorkerCredentials& credentials,
                              const WorkerFigures& figures, bool has_left) = 0;
  };

  // Binds <runtime>/socket and replaces a dead daemon's socket. The errors are whole sentences.
  static Result<std::unique_ptr<WorkerPool>> listen(const std::string& runtime, bool all_users,
                                                    Forker forker, Owner& owner,
                                                    WorkerLimits limits = {});
  ~WorkerPool();

  // Serves until stop_fd is readable, or the forker has ended. It calls `tick` about once a
  // second and `beat` every kHeartbeatPeriodMs, in the loop that serves clients: so a beat
  // proves that they are served.
  void run(int stop_fd, const std::function<void()>& beat, const std::function<void()>& tick);
  // Begins the stop: accepts no new clients. A thread of its own still serves the workers.
  void withdraw();
  // Ends all orders and all workers.
  void stop();
  // The forker has ended, so that there can be no more workers.
  bool has_failed() const { return has_failed_; }
  // After stop(), true if the close of a client's connection hangs. Then the process must end
  // without destructors.
  bool is_closing() const { return is_closing_; }

  // Returns a worker of this user and starts one if there is none. 0: it cannot be started.
  WorkerId worker_of(uid_t uid, gid_t gid);
  // Starts a worker for pushes over the network or for metrics, to which no client is passed.
  // Where all users are served it has the rights of nobody. 0: it cannot be started.
  WorkerId start_listener(bool serves_metrics = false);
  // Forker and workers write their log there.
  void write_log_to(const UniqueFd& log);
  WorkerId own_worker() { return worker_of(own_uid_, own_gid_); }
  // The same with the groups of the user's account on this machine, for a user who asks from
  // another one.
  WorkerId worker_of_account(uid_t uid) {
    const WorkerPointer worker = find_or_start({uid, kNobody, {}, true}, false, false);
    return worker ? worker->id() : 0;
  }
  std::optional<WorkerCredentials> credentials_of(WorkerId worker) const {
    const std::shared_ptr<Worker> found = find(worker);
    return found ? std::optional(found->credentials()) : std::nullopt;
  }

  // 0 and the reply, or an errno: EPIPE there is no such worker, ETIMEDOUT, ECANCELED.
  template <class Order>
  int order(WorkerId worker, Order order, LinkReply<Order>* reply,
            std::chrono::milliseconds limit, UniqueFd file = {}) {
    std::uint32_t dataset = kNoDataset;
    if constexpr (requires { order.dataset; }) dataset = order.dataset;
    LinkPacket packet = packet_of(std::move(order));
    if (file.valid()) packet.files.push_back(std::move(file));
    int status = exchange(worker, packet, dataset, limit);
    if (status == 0 && !decode_link_body(packet.body, reply)) status = EBADMSG;
    return status;
  }
  // Orders all workers that `whom` selects, with one limit for all together. The replies are
  // ignored.
  using Whom = std::function<bool(const Worker& worker)>;
  template <class Order>
  void order_all(Order order, std::chrono::milliseconds limit, const Whom& whom) {
    exchange_all(packet_of(std::move(order)), limit, whom);
  }
  static bool everybody(const Worker&) { return true; }
  // Sends an order and does not wait for a reply. False: there is no such worker, or it has too
  // many messages waiting.
  template <class Order>
  bool tell(WorkerId worker, Order order, UniqueFd file = {}) {
    LinkPacket packet = packet_of(std::move(order));
    if (file.valid()) packet.files.push_back(std::move(file));
    return tell_worker(worker, std::move(packet), true);
  }
  // Tells all workers of this user, among them one with the groups of the account and one with
  // those of the user's last program; both are started if necessary. False: not all were told.
  template <class Order>
  bool tell_user(uid_t uid, Order order) {
    return tell_workers_of(uid, packet_of(std::move(order)), true);
  }
  // To those that run, or to one that is made. It is not what they are needed for.
  template <class Order>
  bool tell_running(uid_t uid, Order order) {
    return tell_workers_of(uid, packet_of(std::move(order)), false);
  }
  // The figures of all workers. The other workers of this one's user are asked, within the
  // limit. The rest are at most a second old, so a busy user delays nobody else's status.
  std::vector<WorkerFigures> figures(const Worker& asking, std::chrono::milliseconds limit);
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return workers_.size();
  }

 private:
  using WorkerPointer = std::shared_ptr<Worker>;
  static constexpr uid_t kNobody = 65'534;

  WorkerPool(std::string runtime, bool all_users, Forker forker, Owner& owner,
             WorkerLimits limits);
  // The packet becomes the reply.
  int exchange(WorkerId worker, LinkPacket& packet, std::uint32_t dataset,
               std::chrono::milliseconds limit);
  // Returns the replies that came in time.
  std::vector<std::pair<WorkerPointer, LinkPacket>> exchange_all(
      const LinkPacket& order, std::chrono::milliseconds limit, const Whom& whom);
  bool tell_worker(WorkerId worker, LinkPacket packet, bool is_use);
  bool tell_workers_of(uid_t uid, const LinkPacket& order, bool with_all_groups);
  void accept_clients();
  void pause_accepting();
  void go_on_accepting();
  WorkerPointer find(WorkerId worker) const;
  WorkerPointer find_or_start(const WorkerCredentials& credentials, bool any_groups,
                              bool is_for_zazend);
  WorkerPointer start(const WorkerCredentials& credentials);  // mutex_ is held
  // The caller of these three holds mutex_.
  bool make_room_for(const WorkerCredentials& credentials, bool is_for_zazend);
  bool make_way(std::optional<uid_t> of_user);
  bool dies_too_often(uid_t uid);
  void pass_on(UniqueFd socket);
  void serve(const WorkerPointer& worker, std::uint32_t events);
  bool read_asks(Worker& worker);  // false: cut it off
  void mark_dead(const WorkerPointer& worker);
  void bury_locked(const WorkerPointer& worker);  // mutex_ is held
  void hold_funerals();
  void hold_funerals_locked();  // mutex_ is held
  void look_for_silent_workers();
  void watch_again();
  void loop(const std::function<void()>& beat, const std::function<void()>& tick);
  bool watch(int fd, std::uint64_t id);

  const std::string runtime_;
  const bool all_users_;
  const uid_t own_uid_;
  const gid_t own_gid_;
  const Forker forker_;
  Owner& owner_;
  const WorkerLimits limits_;
  UniqueFd listener_, epoll_, wake_;
  bool is_accepting_ = true, waits_for_closer_ = false, has_failed_ = false,
       must_watch_again_ = false;
  bool is_closing_ = false;
  ConnectionCloser closer_;

  mutable std::mutex mutex_;
  std::map<WorkerId, WorkerPointer> workers_;
  std::map<WorkerId, WorkerPointer> dead_;  // until none of their asks or orders is under way
  std::map<WorkerCredentials, WorkerId> by_credentials_;
  std::map<uid_t, WorkerCredentials> last_credentials_;  // of programs
  struct Deaths {  // of a user's workers, without an agreed end
    std::size_t count = 0;
    std::chrono::steady_clock::time_point since;
  };
  std::map<uid_t, Deaths> deaths_;
  WorkerId next_id_ = 16;  // the first few are not workers
  bool stopping_ = false;
  UniqueFd withdrawn_, last_stop_;
  std::atomic<bool> is_withdrawn_ = false;
  std::thread last_rounds_;
  WorkQueue funerals_{WorkQueue::OnDemand{WorkQueue::kAnyNumber}};
};

}  // namespace zazen
