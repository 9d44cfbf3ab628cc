// StoreCache: copies on their way into the store, from workers that zazend does not trust
// (D23).
//
// A worker begins a fill with what it saw of the origin, gets an empty file, writes the content
// to it and closes it. A ticket stands for that. zazend then proves by a lease that nobody can
// write to the file any more, gives it identity, rights and name, and has the worker look at
// the origin once more.
//
// A frame is copied once, however many requests a worker has for it (single flight): later ones
// wait for the one that is under way. Other workers are told EALREADY, or copy it as well if a
// program waits. A worker that was told so for kOthersWait copies it, too: workers that were
// stopped, one after the other, must not keep it from the frame. A worker that ends gives its
// tickets back. A push over the network waits for no worker: it takes the place of fills, also
// of those that have their name and are compared with the origin.
//
// `done` is called once, on any thread, without a lock. Thread safe.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/link/link_messages.h"
#include "daemon/origin/trust.h"
#include "daemon/store/group_commit.h"
#include "daemon/store/store.h"

namespace zazen {

struct FillCounts {
  std::uint64_t fills = 0;   // aliens copied
  std::uint64_t pushes = 0;  // pushes answered with 0
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;      // of the fills and pushes that were copied
  std::uint64_t under_way = 0;  // being copied or being committed
};

struct ReceivedContent {  // of a push: written to a file that has no name yet
  Temporary file;
  Reservation room;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;   // the same, less the holes
  std::uint64_t checksum = 0;  // XXH3 of all, as the writer says and as it was written
  PendingCopies::Mark pending = {};
};

class StoreCache {
 public:
  using WorkerId = std::uint64_t;
  using Done = std::function<void(int status)>;
  using Begun = std::function<void(int status, BeginFill::Reply reply)>;
  static constexpr std::size_t kMostRefused = 4'096;  // frames of a worker that are remembered
  static constexpr std::chrono::seconds kOthersWait{10};

  StoreCache(Store& store, Trust& trust, OriginChecks& origins,
             std::chrono::milliseconds others_wait = kOthersWait);

  void begin_fill(WorkerId worker, BeginFill offer, Begun done);
  // Files for content that comes over the network at its sender's pace: nobody waits for it. 0,
  // or why there is none.
  int begin_pushes(WorkerId worker, const BeginPushes& wanted, BeginPushes::Reply* reply);
  int more_room(WorkerId worker, std::uint64_t ticket, std::uint64_t bytes);
  void finish_fill(WorkerId worker, const FinishFill& finish, Done done);
  void finish_content(WorkerId worker, const FinishContent& finish, Done done);
  // Content that came over the network is complete: 0 and the content, or an errno.
  int finish_push(WorkerId worker, std::uint32_t dataset, const PushedFile& finish,
                  ReceivedContent* out);
  void abandon_fill(WorkerId worker, std::uint64_t ticket, int status);
  void note_failed(const FillFailed& failed);
  // Content that came over the network. `worker` has looked at the origin.
  void take_received(WorkerId worker, std::uint32_t dataset, FrameSeq seq,
                     ReceivedContent received, const OriginLook& look, Done done);
  // A native that waits is the origin's file. 0 or an errno; ENOENT: it waits no more.
  int adopt(WorkerId worker, const Adopt& adopt);
  // The same; the origin has the pages, as another look has told.
  int adopt_known(WorkerId worker, std::uint32_t dataset, FrameSeq seq,
                  const OriginFacts& origin);

  // Whatever is under way for this frame will not be published.
  void cancel(std::uint32_t dataset, FrameSeq seq);
  // Its tickets are given back.
  void worker_gone(WorkerId worker);
  FillCounts counts() const;
  // Commits what is complete.
  void stop() { committer_.stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Flight {  // of one ticket
    WorkerId worker = 0;
    BeginFill offer;
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    PendingCopies::Mark pending;
    Temporary file;
    Reservation room;
    std::vector<std::function<void()>> followers;
    Clock::time_point begun = Clock::now();
    // Its file and its room are another thread's: nobody may take the ticket. mutex_ is held.
    bool is_busy = true;
    bool is_open = true;  // its worker has not finished it, and perhaps never does; the same
    bool is_pushed() const { return !is_open && offer.kind == FrameKind::kNative; }
  };
  using FlightPointer = std::shared_ptr<Flight>;
  using Key = std::pair<std::uint32_t, FrameSeq>;

  struct Holder {                              // a worker that lives
    std::size_t tickets = 0;                   // that are not finished
    std::map<Key, Clock::time_point> refused;  // frames that others copied, and since when
  };

  void begin_known(WorkerId worker, BeginFill offer, Begun done);
  // These two: mutex_ is held.
  FlightPointer other_flight(const Flight& wanted, Holder& holder) const;
  bool is_refused_for_long(const Flight& wanted, Holder& holder) const;
  // The ticket of a flight that is busy; mutex_ is held.
  std::uint64_t add_ticket(const FlightPointer& flight, Holder& holder);
  // Makes the file of the flight. If there is none the flight ends: kThere, or an errno.
  int take_off(const FlightPointer& flight, std::uint64_t ticket, UniqueFd* file);
  // The flight is busy no more. False: its worker has ended, and it has no ticket any more.
  bool release(std::uint64_t ticket, Flight& flight);
  int prepare(Flight& flight);  // 0, or why nothing is to be copied
  int consider_held(const BeginFill& offer, bool* is_there);
  int make_file(Flight& flight);
  int seal_received(Flight& flight, std::uint64_t bytes);
  // Null: the worker has no such ticket, it is busy, or it is of the other kind.
  FlightPointer take(WorkerId worker, std::uint64_t ticket,
                     std::optional<bool> is_content = std::nullopt);
  void land(const FlightPointer& flight, int status, bool copied, const Done& done);
  int commit(const FlightPointer& flight, FinishedCopy copy, const OriginFacts* origin,
             Done done);
  bool is_held(WorkerId worker, const BeginFill& offer, const ReceivedContent& received,
               const OriginLook& look, int* status);
  int place_received(const FlightPointer& flight, ReceivedContent received,
                     const OriginLook& look, Done done);
  void count(std::uint32_t dataset, FrameSeq seq, FrameKind kind, int status,
             std::uint64_t copied_bytes, bool copied);

  static constexpr int kCommitting = -1, kThere = -2;

  Store& store_;
  Trust& trust_;
  OriginChecks& origins_;
  const std::chrono::milliseconds others_wait_;

  mutable std::mutex mutex_;
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, FlightPointer> tickets_;  // not finished yet
  std::map<WorkerId, Holder> held_;
  std::multimap<Key, FlightPointer> in_flight_;  // not cancelled
  std::size_t under_way_ = 0;
  FillCounts counts_;
  GroupCommit committer_;
};

}  // namespace zazen
