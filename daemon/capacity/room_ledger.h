// RoomLedger: which frames the node holds, whose they are, and how much room is left.
//
// It counts copies, reservations, pins and the natives of each owner, and it chooses the copies
// that give way (D16, eviction.h). It removes none itself: CopyFiles does, and keeps the ledger
// true to the disk. What is held changes only under the NamesLock. A caller that has it sees
// the same frames until it lets it go.
//
// Thread safe. A walk over all frames of a dataset lets the mutex go between its parts.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/capacity/eviction.h"
#include "daemon/capacity/inventory.h"
#include "daemon/capacity/pins.h"
#include "daemon/capacity/table_turn.h"
#include "daemon/disk/cache_disk.h"

namespace zazen {

class NamesLock;
class RoomLedger;

struct Claim {  // the room that a copy needs
  std::uint32_t dataset = 0;
  FrameKind kind = FrameKind::kAlien;
  Room room;
  Wanted wanted = Wanted::kNow;
  OwnerKey owner = kUnknownOwner;
};

class Reservation {  // room that is held for one copy, until its owner goes
 public:
  Reservation() = default;
  explicit Reservation(int refusal) : refusal_(refusal) {}
  Reservation(Reservation&& other) noexcept { swap(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();
  bool valid() const { return ledger_ != nullptr; }
  // Why it is not: ENOSPC; EDQUOT, the owner's natives have their share; EAGAIN, the store is
  // not reconciled yet; EIO, it cannot be.
  int refusal() const { return refusal_; }
  OwnerKey owner() const { return native_of_.value_or(kUnknownOwner); }
  bool is_admitted() const { return is_admitted_; }  // copies went for it
  // The disk has given the blocks: its own figure of free space counts them from now on.
  void allocated();

 private:
  friend class RoomLedger;
  Reservation(RoomLedger* ledger, Room room, std::optional<OwnerKey> native_of)
      : ledger_(ledger), room_(room), unallocated_bytes_(room.bytes), native_of_(native_of) {}
  void swap(Reservation& other) noexcept;
  RoomLedger* ledger_ = nullptr;
  Room room_;
  std::uint64_t unallocated_bytes_ = 0;
  std::optional<OwnerKey> native_of_;  // whose share it takes from
  bool is_admitted_ = false;
  int refusal_ = 0;
};

struct EvictionPlan {
  Room need;
  std::vector<std::uint32_t> from;  // datasets, in the order in which they give way
};

struct Amount {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
};

struct FrameSelection {
  FrameSeq first;
  FrameSeq last;
  bool natives;
  bool aliens;
  bool dry_run;
};
struct SelectedFrames {
  std::vector<FrameSeq> frames;  // ascending
  Amount amount;
  std::uint64_t pinned = 0;  // frames of the selection that stay
};

struct DatasetUsage {
  std::uint64_t natives = 0;
  std::uint64_t aliens = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pinned = 0;  // of the frames that are held
  std::vector<FrameRange> pins;
};
struct StoreUsage {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t evictions = 0;
  std::vector<DatasetUsage> datasets;
};

struct StoredFrame {
  std::uint32_t dataset;
  FrameSeq seq;
  HeldFrame held;
  bool pinned;
};

class RoomLedger {
 public:
  RoomLedger(const Config& config, const CacheDisk& disk)
      : config_(config),
        disk_(disk),
        inventory_(kMaxDatasets),
        eviction_(kMaxDatasets),
        pins_(kMaxDatasets),
        unreconciled_(kMaxDatasets) {}

  // The frames that are held.
  void add_dataset(const NamesLock&, std::uint32_t dataset, HeldTables held,
                   bool is_reconciled);
  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
  StoreUsage usage() const;
  std::uint64_t files(std::uint32_t dataset, FrameKind kind) const;
  std::vector<FrameSeq> frames(std::uint32_t dataset, FrameKind kind) const;  // ascending
  std::vector<StoredFrame> list(std::uint32_t dataset) const;                 // ascending
  std::vector<FrameSeq> frames_from(std::uint32_t dataset, FrameSeq first,
                                    std::size_t limit) const;
  std::vector<FrameSeq> sample(std::uint32_t dataset, std::size_t at_random) const;
  std::vector<FrameSeq> next(TableTurn& turn, std::uint32_t dataset) const;
  std::vector<uid_t> owners() const;

  // Counts the copy in place of its reservation, never both: the next one may need that room.
  void take_in(const NamesLock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
               std::uint64_t bytes, uid_t owner, Reservation room = {});
  std::optional<HeldFrame> let_go(const NamesLock&, std::uint32_t dataset, FrameSeq seq);
  // The size and owner of a held frame.
  void learn(const NamesLock&, std::uint32_t dataset, FrameSeq seq, std::uint64_t bytes,
             uid_t owner);
  // A file that a reconciliation has met. The pins are counted at its end.
  void take_in_found(const NamesLock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
                     std::uint64_t bytes, uid_t owner);
  // For a clean stop, with the sizes of the logs. 0 or an errno.
  int seal(const NamesLock&, std::uint32_t dataset, std::uint64_t stamp,
           std::uint64_t native_log_bytes, std::uint64_t alien_log_bytes);

  // Room for a claim: at once; or the plan says what must go before, if anything may. Then,
  // under the NamesLock, the plan is revised (false: nothing may go), and when the copies are
  // gone the room is reserved, unless another one was faster.
  void note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets);
  Reservation reserve(const Claim& claim, EvictionPlan* plan);
  bool revise(const Claim& claim, EvictionPlan* plan);
  Reservation reserve_freed(const Claim& claim);
  int assign(Reservation& room, std::uint32_t dataset, uid_t owner);
  void merge(Reservation& room, Reservation more);
  // 0 or EDQUOT, if so many more natives exceed the owner's share.
  int check_share(std::uint32_t dataset, OwnerKey owner, std::uint64_t bytes) const;

  // The copies that may go.
  std::vector<std::uint32_t> who_gives_way(const Claim& claim);
  std::optional<EvictionPlan> over_limits() const;  // none before all is reconciled
  std::optional<FrameSeq> choose_victim(std::uint32_t dataset);
  SelectedFrames select(std::uint32_t dataset, const FrameSelection& selection) const;
  bool is_selected(std::uint32_t dataset, FrameSeq seq, const FrameSelection& selection) const;
  struct Evictions {
    std::uint64_t all = 0;
    std::uint64_t synced = 0;  // whose room the disk has given back
  };
  Evictions evictions() const;
  void count_evictions(std::uint64_t frames);
  void note_synced(std::uint64_t evictions);

  Pins pins(std::uint32_t dataset) const;
  // Counts the pinned frames anew. What is held of the range.
  Amount set_pins(const NamesLock&, std::uint32_t dataset, Pins pins, FrameRange range = {});

  // Until all is reconciled, what is held is not known: see store.cc.
  bool is_reconciled() const;
  bool is_reconciled(std::uint32_t dataset) const;
  bool wait_until_reconciled();  // false: it was given up
  std::set<std::uint32_t> not_reconciled() const;
  void note_not_reconciled(std::uint32_t dataset);
  void note_reconciled(const NamesLock&, std::uint32_t dataset, std::optional<FrameSeq> newest);
  void give_up_reconciling();
  bool is_giving_up() const { return giving_up_; }
  std::uint64_t unknown_sizes(std::uint32_t dataset) const;
  // A part of the frames, as FrameTable::look() shows them: all, or those without a size.
  std::vector<FrameSeq> next_part(std::uint32_t dataset, FrameKind kind, bool all,
                                  std::uint64_t* position) const;

 private:
  friend class Reservation;
  using Lock = std::unique_lock<std::mutex>;  // of mutex_

  Room deficit(const Lock&, Room wanted) const;
  std::uint64_t native_share(const Lock&) const;
  bool exceeds_share(const Lock&, OwnerKey owner, std::uint64_t bytes) const;
  int refuse_share(Lock& lock, std::uint32_t dataset) const;  // unlocks; EDQUOT
  Reservation hold(const Lock&, const Claim& claim);
  void release(const Lock&, Reservation& room);
  std::vector<std::uint32_t> who_gives_way(const Lock&, const Claim& claim, Room need);
  Room evictable(const Lock&, std::uint32_t dataset) const;
  void add(const Lock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
           std::uint64_t bytes, uid_t owner);
  std::optional<HeldFrame> remove(const Lock&, std::uint32_t dataset, FrameSeq seq);
  void note_owner(const Lock&, uid_t owner);
  bool is_reconciled(const Lock&) const;

  const Config& config_;
  const CacheDisk& disk_;
  std::atomic<bool> giving_up_ = false;  // becomes true under mutex_, for those who wait
  std::condition_variable reconciled_;

  // Protects all members below it. The only system call under it is statvfs(2), but for those
  // of a table that grows or is sealed.
  mutable std::mutex mutex_;
  Inventory inventory_;
  Eviction eviction_;
  std::vector<Pins> pins_;          // one for each dataset
  std::vector<bool> unreconciled_;  // by dataset
  std::set<std::uint32_t> stuck_;   // cannot be reconciled at present
  Room reserved_;
  std::map<OwnerKey, std::uint64_t> reserved_natives_;  // bytes
  std::set<uid_t> owners_;
  std::uint64_t unallocated_bytes_ = 0;
  Evictions evictions_;
};

}  // namespace zazen
