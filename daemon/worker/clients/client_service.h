// ClientService: processes each message of a client, in the worker of its user. It never
// blocks: threads do the work that may take time, and the answers come through the reply_queue.
//
// The worker asks the origin for the rights of its user, and zazend for changes in the cache.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "bodhi/config/config.h"
#include "daemon/threads/origin_threads.h"
#include "daemon/worker/cache/cache_link.h"
#include "daemon/worker/changes/change_notices.h"
#include "daemon/worker/changes/changing_frames.h"
#include "daemon/worker/changes/news_reader.h"
#include "daemon/worker/changes/write_watcher.h"
#include "daemon/worker/clients/packet.h"
#include "daemon/worker/clients/problems.h"
#include "daemon/worker/clients/reply_coalescer.h"
#include "daemon/worker/clients/reply_queue.h"
#include "daemon/worker/fills/filler.h"
#include "daemon/worker/origins/doubts.h"
#include "daemon/worker/origins/permission.h"
#include "daemon/worker/push/frame_pusher.h"

namespace zazen {

class ClientService : public NewsTaker {
 public:
  // `is_own_user`: zazend runs as this user, too, who may ask for everything.
  ClientService(const Config& config, CacheLink& link, std::size_t queue_limit,
                bool is_own_user);

  bool is_own_user() const { return is_own_user_; }
  enum class Taken { kYes, kLater, kNonsense };
  // kLater: a push while the queue is full; take the same packet again when the reply_queue
  // wakes. kNonsense: no client of ours sends this; close the connection.
  Taken take(std::uint64_t client, Packet& packet);
  ReplyQueue& reply_queue() { return reply_queue_; }
  // Messages that may have reported changes were lost.
  void doubt_all();
  // An order of zazend: programs of this user could not report changes.
  void take_untold(const std::vector<std::uint32_t>& datasets);
  // zazend orders: programs of this user may use these.
  void take_used(const std::vector<std::uint32_t>& datasets);

  // An order of zazend: a suspended copy was found. `done` gets 0 when the frame is watched.
  void watch_writers(std::uint32_t dataset, FrameSeq seq, std::function<void(int)> done);
  void watch_changes(std::uint32_t dataset, FrameSeq seq) { changing_.take(dataset, seq); }
  // News of a program of this user (bodhi/lean/frames/program_news.h).
  void take_news(const FrameEntry& news, std::function<void()> settled) override;
  // An order of zazend: tell the peers.
  void tell_peers(const TellPeers& order);
  // A reload: the peers, and how to reach them.
  void renew_peers(const Config& next);

  // The caller calls this about once a second.
  void tick();
  WorkerFigures figures();
  OriginFindings find_problems() { return problems_.find(is_own_user_); }
  bool is_idle();
  // Stops within the limit, as far as origins allow; then the reply_queue has the last answers.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Asked {  // the sender of a request
    std::uint64_t client;
    std::uint64_t request;
    bool is_answered;
  };
  static constexpr std::uint32_t kAllDatasets = kNoDataset;
  struct Request {
    Asked asked;
    Packet packet;
    std::uint32_t dataset = kAllDatasets;  // stays so if the message names none
    FrameSeq seq = 0;                      // of the frame, if it names one
    bool is_put_off = false;               // set by a handler: the request is taken again later
  };

  // Processes one message: client_service.cc. A row of kMessages without a handler there does
  // not compile. Only a row without a wish can be put off.
  using Handler = void (ClientService::*)(Request&);
  template <MessageType type>
  void handle(Request& request) = delete;
  template <std::size_t row>
  static constexpr Handler handler_of() {
    if constexpr (kMessages[row].from == Sender::kDaemon) {
      return nullptr;
    } else {
      return &ClientService::handle<kMessages[row].type>;
    }
  }
  template <std::size_t... rows>
  static constexpr auto handlers_of(std::index_sequence<rows...>) {
    return std::array{handler_of<rows>()...};
  }
  // 0, or the reason for the refusal.
  int read_names(const MessageRule& rule, const Packet& packet, Request* out) const;
  int permission(Wish wish, std::uint32_t dataset) const;
  bool may_change_frame(std::uint32_t dataset, const std::string& name) const;
  void submit(Request& request, FrameKind kind, bool is_content = false);
  void pin(const Request& request, bool pinned);
  void answer(const Asked& asked, int status, std::string body = {});
  // Returns `work`, which answers; without memory the answer is ENOMEM.
  template <class Work>
  auto answering(const Asked& asked, Work work);
  // The client gets zazend's answer.
  template <class Ask>
  void forward(const Asked& asked, Ask ask);
  template <class Ask>
  void forward_content(std::vector<Asked> askers, Ask ask);
  std::optional<std::uint32_t> find_dataset(const char* path, std::size_t length) const;
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;
  void list(std::uint32_t dataset);
  void tell_status();
  void compare_for_all(std::uint32_t dataset);
  int keep_listing(std::uint32_t dataset, int fd);
  void change(const Asked& asked, std::uint32_t dataset, FrameSeq seq, std::uint32_t flags);

  // Frames that are open for writing (D25): client_writers.cc.
  void open_for_writing(std::uint32_t dataset, FrameSeq seq,
                        const std::function<void(int)>& done);
  int drop_changed(std::uint32_t dataset, FrameSeq seq);
  void take_change(const FrameEntry& news, const std::function<void()>& settled);
  void take_miss(const FrameEntry& news);
  void writers_gone(const ClosedFrame& frame);
  void settle_suspended(const ClosedFrame& frame);
  int compare_suspended(const ClosedFrame& frame);
  void watch(std::uint32_t dataset, FrameSeq seq);
  bool is_pushed(std::uint32_t dataset, FrameSeq seq) const {  // after it has been written
    const DatasetConfig& config = config_.datasets[dataset];
    return config.push && !config.removed && !config.name.is_companion(seq);
  }
  void learn_push_key();
  void tell(const Tell& news);
  void give_notice(const Tell& news);  // the caller holds notices_mutex_

  const Config& config_;
  CacheLink& link_;
  const bool is_own_user_;
  ReplyQueue reply_queue_;
  std::atomic<bool> has_push_key_ = false;
  const std::shared_ptr<KeyRing> keys_ = std::make_shared<KeyRing>();
  Filler filler_;
  ReplyCoalescer<Asked> lists_, statuses_, comparisons_;
  OriginProblems problems_;
  WorkQueue errands_{WorkQueue::OnDemand{1}};
  WorkQueue additions_{WorkQueue::OnDemand{1}};  // of datasets
  OriginThreads questions_{2};                   // what the user may do
  OriginThreads samples_{1};
  OriginThreads changes_{2};  // separate, because changes are answered soon
  Doubts doubts_;
  struct Use {  // whether the user may search the dataset's directory
    std::atomic<bool> is_asked = false;
    std::atomic<bool> may_search = false;  // as the origin has said last
  };
  std::array<Use, kMaxDatasets> uses_;
  ChangingFrames changing_;
  WriteWatcher written_;
  FramePusher writer_;
  std::mutex notices_mutex_;
  std::unique_ptr<ChangeNotices> notices_;  // from zazend's first order to tell the peers
};

}  // namespace zazen
