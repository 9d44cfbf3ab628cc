// Writer: pushes a simulation's frames to the nodes while the simulation continues.
//
// write() copies the frame into memory, or drops its push if there is no room, and returns. It
// waits for no node and no disk. Each node has a thread, which owns the connection, sends the
// node's frames, and finds out when a silent node answers again. So a dead node delays no other
// node. (A daemon has many writers; their threads exist only while there is work, see
// WriterSettings::idle_ms.) Another thread moves frames to the spool while memory is more than
// half full. A frame is pushed when a node has reported that it is durable. Until then it is
// kept, and goes to another node if this one fails; so two nodes may have it as a native (D14).
//
// Thread safe. The threads take no signals. close() is bounded: a thread that hangs in a dead
// file system is detached.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/worker_threads.h"
#include "bodhi/push/node_link.h"
#include "bodhi/writer/spool.h"
#include "bodhi/writer/write_queue.h"
#include "bodhi/writer/writer_settings.h"

namespace zazen {

class Writer : public std::enable_shared_from_this<Writer> {
 public:
  struct Figures {  // queued = pushed + dropped + left + waiting
    std::uint64_t queued = 0, pushed = 0, dropped = 0, waiting = 0;
    std::uint64_t left = 0;     // being written when their turn came (WriterSettings)
    std::uint64_t spooled = 0;  // of those queued, how many went through the spool
    std::uint64_t bytes = 0;    // pushed
    std::uint64_t memory_bytes = 0, spool_bytes = 0;  // in use
  };
  struct NodeFigures {
    std::string peer;
    std::uint64_t pushed = 0, bytes = 0;
    std::size_t under_way = 0;  // frames that it has not answered yet
    bool answers = true;        // as far as is known
    int failure = 0;            // an errno: why the writer skipped it the last time
    std::chrono::steady_clock::time_point known_at;  // when it last answered, or failed to
  };
  // Reports the result of a queued frame: 0, or why its push was given up. Called on threads of
  // the writer, which wait for it, so it must not call the writer.
  using OnSettled = std::function<void(const std::string& dataset, FrameSeq seq, int status)>;

  static Result<std::shared_ptr<Writer>> start(WriterSettings settings,
                                               OnSettled on_settled = {});

  // An error says that the frame has no name; a dropped push is no error.
  Status write(const std::string& dataset, FrameSeq seq, std::span<const std::byte> bytes);
  // The same for a frame that is already at the origin; its bytes are read when it is pushed.
  // `open` opens it then, on a thread of the writer; not valid, with errno, if it cannot.
  // Without `open` the writer opens it by its path, with the rights of this process.
  Status write_file(const std::string& dataset, FrameSeq seq,
                    std::function<UniqueFd()> open = {});
  // The frame is already queued, and will be read in its state at that time.
  bool will_read(const std::string& dataset, FrameSeq seq);
  // Waits until at most half of the memory is in use. False: it was not, within this time.
  bool await_room(int timeout_ms);
  // Waits for the frames queued so far. A negative limit: as long as any node answers.
  Status flush(int timeout_ms);
  // Sends no further frame; node_figures() tells of those that are under way.
  void stop_sending();
  // False: a thread still hangs after another leave_ms (negative: a little more than a node's
  // time limit).
  bool close(int timeout_ms, int leave_ms = -1);

  Figures figures();
  std::optional<NodeFigures> node_figures(std::size_t node);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  static constexpr std::uint64_t kLargestWindow = 32'000'000;
  static constexpr std::chrono::milliseconds kFirstBackoff{250};

  struct Outstanding {
    QueuedFrame frame;
    std::uint64_t size = 0;
    std::uint64_t memory_bytes() const { return frame.place == FramePlace::kOrigin ? 0 : size; }
  };
  struct Node {  // all but `wake` and the figures belong to its thread
    explicit Node(std::string name) { figures.peer = std::move(name); }
    NodeFigures figures;
    std::condition_variable wake;
    std::unique_ptr<NodeLink> link;
    std::map<std::uint64_t, Outstanding> outstanding;  // by request
    std::uint64_t outstanding_bytes = 0, outstanding_memory = 0;
    std::uint64_t next_request = 1;
    Clock::time_point heard_at;  // while something is outstanding
    bool has_thread = false;
    bool tried = false;      // a connection was tried
    bool once_more = false;  // the connection ended: one new attempt follows at once
    Clock::time_point pause_until;
    Clock::time_point retry_at;
    std::chrono::milliseconds backoff;
  };

  Writer(WriterSettings settings, std::optional<Spool> spool, OnSettled on_settled);
  Status start_threads();
  int start_nodes(bool all);  // or only those with work; 0 or an errno
  template <class Work>
  int start_thread(Work work);  // mutex_ is held; 0 or an errno

  Result<std::size_t> dataset_index(const std::string& dataset, FrameSeq seq) const;
  std::string frame_name(const QueuedFrame& frame) const;
  bool admit(QueuedFrame& frame);  // false: its push is dropped
  void relieve_memory();
  void enqueue(QueuedFrame frame);

  void serve_node(std::size_t index);
  bool await_turn(std::size_t index, Lock& lock);  // false: there was no work for long
  bool connect(std::size_t index, Lock& lock);
  Result<std::unique_ptr<NodeLink>> make_link(const std::string& peer) const;
  void send_waiting(std::size_t index, Lock& lock);
  void collect_answer(std::size_t index, Lock& lock);
  UniqueFd open_by_path(const QueuedFrame& frame, const std::string& name) const;
  Result<PushContent> load(Outstanding& outstanding, const std::string& name,
                           UniqueFd& origin) const;
  void lose_link(std::size_t index, const Error& error);
  void mark_dead(std::size_t index, int code);
  void refuse(std::size_t index, QueuedFrame frame, int status);
  void retry_later(std::size_t index, QueuedFrame frame);
  void finish(std::size_t index, const QueuedFrame& frame, int status);
  void forget(const QueuedFrame& frame);
  void wake_idle();
  void wake_all();

  void serve_spool();
  bool move_to_spool(Lock& lock);

  const WriterSettings settings_;
  const OnSettled on_settled_;
  const std::uint64_t window_bytes_;  // of memory that may be outstanding at a node
  std::mutex mutex_;
  std::condition_variable settled_;  // for flush and close: a frame was pushed or given up
  std::condition_variable room_;
  std::condition_variable spooling_;
  const FrameMemory memory_;
  WriteQueue queue_;
  std::optional<Spool> spool_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Figures figures_;
  std::map<std::uint64_t, std::uint64_t> waiting_by_generation_;
  std::uint64_t generation_ = 0;
  WorkerThreads threads_;
  bool stopping_ = false;
  bool sends_no_more_ = false;
};

}  // namespace zazen
