// RunningWorker: one worker, as zazend sees it: what waits to be sent to it, what it was
// ordered and has not answered, and the threads that do what it asks.
//
// A worker that does not take its messages gets no more: up to kMostConnections wait for it
// (connection_queue.h), behind its other messages. zazend makes few files in memory for it. A
// worker has a bounded number of threads in zazend. WorkerPool owns it and reads from it.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "daemon/link/link.h"
#include "daemon/pool/forker.h"
#include "daemon/threads/connection_closer.h"
#include "daemon/threads/connection_queue.h"
#include "daemon/threads/origin_threads.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

using WorkerId = std::uint64_t;

class RunningWorker : public std::enable_shared_from_this<RunningWorker> {
 public:
  static constexpr std::size_t kMostAsks = 1'024;         // that are not answered
  static constexpr std::size_t kMostConnections = 2'048;  // that wait for it
  static constexpr std::size_t kMostMessages = 2'048;     // the same, beside these
  // Overdue orders for a dataset; while so many are, none is sent. One origin that hangs must
  // not keep orders for others from it.
  static constexpr std::ptrdiff_t kMostOverdue = 8;
  static constexpr std::size_t kMostLanes = 16;    // of two threads each, for all datasets
  static constexpr std::size_t kMostContents = 8;  // files in memory that it has not taken

  RunningWorker(WorkerId id, WorkerCredentials credentials, LinkEnds ends, int wake,
                ConnectionCloser& closer)
      : id_(id),
        credentials_(std::move(credentials)),
        send_(std::move(ends.send)),
        receive_(std::move(ends.receive)),
        wake_(wake),
        closer_(closer) {}

  WorkerId id() const { return id_; }
  const WorkerCredentials& credentials() const { return credentials_; }

  // Sends an order and waits for the reply, which takes the packet's place. 0, or an errno:
  // EPIPE: the worker is gone, ETIMEDOUT, ECANCELED.
  int exchange(LinkPacket& packet, std::uint32_t dataset, std::chrono::milliseconds limit);

  // `work` on a thread of the worker's: one of the dataset, or one for what names none, or one
  // for what takes long. It answers by reply().
  void post(std::uint32_t dataset, std::function<void()> work);
  void post_long(std::function<void()> work);
  // Before the answer to an ask for content is made: waits until the worker has taken earlier
  // ones, but for a few. False: it does not.
  bool await_room_for_content();
  // Once for each ask. A worker whose reply is lost for want of memory is cut off.
  void reply(LinkType type, std::uint64_t request, int status, std::string body = {},
             std::vector<UniqueFd> files = {}) noexcept;
  void note(WorkerFigures figures);
  // The worker wants to end: 0, and it gets no more orders, or EAGAIN.
  int take_leave(std::uint64_t orders_seen);

 private:
  friend class WorkerPool;
  struct Order {
    LinkType type = {};
    std::uint64_t number = 0;
    std::condition_variable answered;
    std::optional<LinkPacket> reply;
    bool is_over = false;  // there will be none
  };

  // For an order to many workers. Null: it is not sent.
  std::shared_ptr<Order> begin_order(const LinkPacket& order);
  std::optional<LinkPacket> end_order(const std::shared_ptr<Order>& order,
                                      std::chrono::steady_clock::time_point deadline);
  void end_ask();
  int send(const LinkPacket& packet);  // these two: mutex_ is held
  void forget_taken_contents();
  // These three: mutex_ is held.
  // These two are false if it is not to be sent; then it stays with the caller.
  bool enqueue(LinkPacket& packet, bool is_use = true);
  bool enqueue_connection(UniqueFd& socket, pid_t pid);
  std::shared_ptr<Order> enqueue_order(LinkPacket& packet, bool is_use);  // or null
  bool answers(std::uint32_t dataset) const;
  void take_reply(LinkPacket packet);
  // These four: mutex_ is held.
  bool has_waiting() const { return !waiting_.empty() || !connections_.empty(); }
  bool send_waiting();     // false: the worker is gone
  int send_connections();  // 0, EAGAIN, or it is gone. Takes no memory, as send_waiting()
  void send_soon();        // now, or when the worker has read enough
  void end_orders();
  void stop_threads();
  void drop_waiting();

  const WorkerId id_;
  const WorkerCredentials credentials_;
  const UniqueFd send_, receive_;
  const int wake_;  // of the pool
  ConnectionCloser& closer_;
  LinkReader reader_;  // these four: of the serving thread
  std::uint32_t watched_ = 0;
  bool is_output_watched_ = false;
  std::size_t silent_ticks_ = 0;
  std::atomic<std::size_t> asks_ = 0;

  std::mutex mutex_;
  std::deque<LinkPacket> waiting_;  // to be sent
  ConnectionQueue connections_{kMostConnections};
  std::map<std::uint64_t, std::shared_ptr<Order>> orders_;
  std::uint64_t next_order_ = 1;
  std::uint64_t sent_ = 0;  // orders, connections among them
  std::uint64_t sent_bytes_ = 0;
  std::size_t contents_ = 0;  // that are made, or not taken
  // Of these: the bytes that were sent before each, in a ring.
  std::array<std::uint64_t, kMostContents> sent_contents_ = {};
  std::size_t first_content_ = 0, contents_sent_ = 0;
  // Orders that are not waited for any more, and their datasets.
  std::map<std::uint64_t, std::uint32_t> overdue_;
  std::uint64_t late_figures_ = 0;  // the order; until its reply comes there is no other
  // When there was a connection or an order for it alone.
  std::chrono::steady_clock::time_point used_at_;
  bool is_gone_ = false, has_left_ = false;
  bool has_lost_ = false;   // a reply, for want of memory
  bool is_buried_ = false;  // the pool's mutex_ is held
  WorkerFigures figures_;

  OriginThreads lanes_{2, WorkQueue::Queued::kDone, kMostLanes};
  WorkQueue general_{WorkQueue::OnDemand{2}};  // for what names no dataset
  WorkQueue long_{WorkQueue::OnDemand{1}};
};

}  // namespace zazen
