// PushSession: one writer's connection (bodhi/push/push_wire.h), on a thread of its own.
//
// It holds two buffers and small answers, whatever the writer sends: content goes to a file as
// it comes, and a writer with kMostOpen pushes unanswered is not read from. zazend makes the
// file while the content comes: what comes before the file is kept in memory, of a few small
// frames or of the beginning of a large one. For frames of the last one's size a few files are
// asked for ahead, so that there is nothing to wait for.
//
// The session closes a connection that does not prove itself in time, is too slow with a
// message that it has begun, or breaks the rules: a MAC that is wrong, a message that does not
// belong there. A request that is refused with an answer does no harm to the rest.
//
// For the writer silence is a daemon that hangs. So while a disk, or the rate limit, holds up
// what it waits for, another thread says that the session is at work.
#pragma once
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "bodhi/push/key_ring.h"
#include "bodhi/push/munge_credential.h"
#include "bodhi/push/push_keys.h"
#include "bodhi/push/push_wire.h"
#include "daemon/link/link_messages.h"
#include "daemon/worker/push/carried_requests.h"
#include "daemon/worker/push/rate_limit.h"

namespace zazen {

struct PushLimits {  // for whoever pushes
  std::chrono::milliseconds handshake{5'000}, message{20'000}, idle{600'000};
  std::uint64_t slowest_bytes = 64 << 10;  // of content, in a second
  std::chrono::milliseconds quiet{200};    // after it a writer has no files ahead
};

// What sessions need of zazend. Thread safe.
class PushDesk {
 public:
  virtual ~PushDesk() = default;
  // A file for a frame of so many bytes, or an errno. `done` may be called on another thread.
  using Begun = std::function<void(int status, std::uint64_t ticket, UniqueFd file)>;
  virtual void begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) = 0;
  // It is complete, and closed here. `done` is told 0 when it is durable, or an errno.
  using Finished = std::function<void(int status)>;
  virtual void finish(std::uint32_t dataset, const PushedFile& file, Finished done) = 0;
  virtual void abandon(std::uint64_t ticket, int status) = 0;
  // begin() and finish() wait for this, so that zazend is asked for many at once: whoever waits
  // for what comes of them calls it first.
  virtual void flush() = 0;
  virtual Result<std::string> natives(std::uint32_t dataset) = 0;  // an encoded FrameSet
  virtual int take_notice(std::string_view notice) = 0;            // 0 or an errno
  virtual bool is_disk_usable() = 0;
  virtual Result<MungeSecret> decode_munge(const std::string& credential) = 0;
  // A connection to the worker of the user whose credential this is, for one request.
  virtual Result<UniqueFd> connect_as(const std::string& credential,
                                      const Bytes32& binding) = 0;
};

struct PushCounts {
  std::atomic<std::uint64_t> connections = 0;  // at present, of writers that were let in
  std::atomic<std::uint64_t> askers = 0;       // the same of users who may ask, but not push
  std::atomic<std::uint64_t> refused = 0;      // that were not, or that broke the rules
  std::atomic<std::uint64_t> frames = 0;       // durable here, as the writers were told
  std::atomic<std::uint64_t> failed = 0;       // pushes answered with an errno
  std::atomic<std::uint64_t> bytes = 0;        // of content, whatever came of it
};

struct PushTerms {  // for all sessions of a listener
  const Config& config;
  PushDesk& desk;
  KeyRing& keys;
  PushCounts& counts;
  RateLimit rate;
  std::uint16_t methods = 0;
  uid_t own_uid = ::geteuid();  // of zazend
  PushLimits limits = {};
};

class IncomingFrame;

class PushSession {
 public:
  static constexpr std::size_t kMostOpen = 512;
  static constexpr std::size_t kMostAskers = 32;  // of a listener

  PushSession(UniqueFd socket, std::string from, PushTerms& terms);
  PushSession(const PushSession&) = delete;
  PushSession& operator=(const PushSession&) = delete;

  void run();
  // From another thread: no more is read; it ends when all is answered, or at once.
  void stop();
  void abort();
  // From another thread, several times a second: a sign of life, if the writer waits for
  // something and the cache's disk is in use.
  void say_at_work();
  // From the same thread: closes the session if its key is not good any more.
  void check_key();
  bool is_admitted() const { return admitted_; }
  bool has_ended() const { return ended_; }

 private:
  using Clock = std::chrono::steady_clock;
  using IntakePointer = std::shared_ptr<IncomingFrame>;
  struct Answered {
    std::uint64_t request;
    int status;
  };
  struct AnswerBox {  // outlives the session if a frame is committed later
    std::mutex mutex;
    std::vector<Answered> answers;
    UniqueFd event;
    void post(Answered answer);
    void wake();
  };
  struct Complete {  // all of its content is there
    IntakePointer intake;
    FrameSeq seq;
    std::uint64_t checksum;
    std::function<void(int status)> done;
  };

  // False from here on: the session is over.
  bool introduce();
  std::atomic<std::uint64_t>& place() {
    return only_asks_ ? terms_.counts.askers : terms_.counts.connections;
  }
  bool prove(const PushHello& hello, const PushIntroduction& introduction,
             const std::string& credential, const std::string& peer, std::string* why);
  bool is_meant(const PushTarget& target, const std::string& peer) const;
  void serve();
  bool serve_message();
  bool take_push(const PushHeader& header, const PushNames& names);
  IntakePointer begin(std::uint32_t dataset, std::uint64_t bytes);
  IntakePointer intake_for(std::uint32_t dataset, std::uint64_t bytes);
  void forget_ahead();
  std::size_t begun() const { return complete_.size() + ahead_.size(); }
  bool take_content(std::uint64_t bytes, int* status, IncomingFrame* intake, ContentEnd* end);
  int store(IncomingFrame& intake, const char* bytes, std::size_t size);
  void finish_complete();
  void finish_oldest();
  bool answer_natives(std::uint64_t request, const PushNames& names);
  bool carry_request(std::uint64_t request, const std::string& body);
  bool await_carried(std::optional<CarriedRequests::Answer>* found);
  bool say_content(std::uint64_t request, const CarriedRequests::Answer& found);
  int find_frame(const PushNames& names, std::uint32_t* dataset, FrameSeq* seq) const;
  std::optional<std::uint32_t> find_dataset(const std::string& path) const;

  bool receive_message(PushHeader* header, std::string* body);
  bool receive(void* bytes, std::size_t size);
  bool fill_buffer();
  bool wait_for_input();
  bool pause(std::chrono::milliseconds time);
  void answer(std::uint64_t request, int status);
  void say(PushType type, std::uint64_t request, int status);
  void say(const PushHeader& header, std::string_view body);
  void collect_answers();
  std::size_t unsent() const;
  bool send_output();
  bool send_all();
  bool break_off(const char* why);

  const UniqueFd socket_;
  const std::string from_;
  PushTerms& terms_;
  std::atomic<bool> admitted_ = false, ended_ = false, stopping_ = false;
  Clock::time_point deadline_;
  std::unique_ptr<PushKeys> keys_;
  bool is_tagged_ = false;
  bool only_asks_ = false;  // it is a user with a credential, and no writer
  std::string key_;         // of the key file, by which the writer has proved itself; else ""
  std::uint64_t frames_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was received and is not used yet
  std::deque<Complete> complete_;    // they wait for their files; the oldest first
  // Of the last frame, and files for more of the same dataset and size (intake_for()).
  IntakePointer last_;
  std::uint32_t last_dataset_ = 0;
  std::uint64_t last_bytes_ = 0;
  std::deque<IntakePointer> ahead_;
  CarriedRequests carried_;
  std::shared_ptr<AnswerBox> box_ = std::make_shared<AnswerBox>();
  std::atomic<std::size_t> open_ = 0;      // pushes that are not answered
  std::atomic<bool> has_request_ = false;  // not yet taken whole, or not yet answered
  mutable std::mutex output_mutex_;
  std::string output_;  // in the order of the MACs' counter
  bool said_key_ended_ = false;
};

}  // namespace zazen
