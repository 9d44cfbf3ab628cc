// RoomLedger: which frames the node holds, who owns them, and how much room is left.
//
// It counts copies, reservations, pins and the natives of each owner, and it chooses the copies
// to evict (D16, eviction.h). It removes no copy itself: CopyFiles does, and keeps the ledger
// true to the disk. The held frames change only under the NamesLock. A caller that has it sees
// the same frames until it releases it.
//
// Thread safe. A walk over all frames of a dataset releases the mutex between its parts.
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
  // The reason for a refusal. ENOSPC: no room. EDQUOT: the owner's natives have their share.
  // EAGAIN: the store is not reconciled yet. EIO: it cannot be reconciled.
  int refusal() const { return refusal_; }
  OwnerKey owner() const { return native_of_.value_or(kUnknownOwner); }
  bool is_admitted() const { return is_admitted_; }  // copies were evicted for it
  // The disk has given the blocks: from here on its own figure of free space includes them.
  void allocated();

 private:
  friend class RoomLedger;
  Reservation(RoomLedger* ledger, Room room, std::optional<OwnerKey> native_of)
      : ledger_(ledger), room_(room), unallocated_bytes_(room.bytes), native_of_(native_of) {}
  void swap(Reservation& other) noexcept;
  RoomLedger* ledger_ = nullptr;
  Room room_;
  std::uint64_t unallocated_bytes_ = 0;
  std::optional<OwnerKey> native_of_;  // the owner whose share it takes from
  bool is_admitted_ = false;
  int refusal_ = 0;
};

struct EvictionPlan {
  Room need;
  std::vector<std::uint32_t> from;  // datasets, in the order of eviction
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
  std::vector<FrameSeq> next(FrameCursor& turn, std::uint32_t dataset) const;
  std::vector<uid_t> owners() const;

  // Counts the copy in place of its reservation, never both: the next one may need that room.
  void add_held(const NamesLock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
                std::uint64_t bytes, uid_t owner, Reservation room = {});
  std::optional<HeldFrame> remove_held(const NamesLock&, std::uint32_t dataset, FrameSeq seq);
  // Sets the size and owner of a held frame.
  void learn(const NamesLock&, std::uint32_t dataset, FrameSeq seq, std::uint64_t bytes,
             uid_t owner);
  // Counts a file that a reconciliation has found. The pins are counted at its end.
  void take_in_found(const NamesLock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
                     std::uint64_t bytes, uid_t owner);
  // Seals the tables for a clean stop, with the sizes of the logs. 0 or an errno.
  int seal(const NamesLock&, std::uint32_t dataset, std::uint64_t stamp,
           std::uint64_t native_log_bytes, std::uint64_t alien_log_bytes);

  // Reserves room for a claim at once, or returns a plan of what must be evicted first, if
  // anything may be. The caller then holds the NamesLock and revises the plan (false: nothing
  // may be evicted). When the copies are gone, it reserves the room, unless another claim took
  // it meanwhile.
  void note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets);
  Reservation reserve(const Claim& claim, EvictionPlan* plan);
  bool revise(const Claim& claim, EvictionPlan* plan);
  Reservation reserve_freed(const Claim& claim);
  int assign(Reservation& room, std::uint32_t dataset, uid_t owner);
  void merge(Reservation& room, Reservation more);
  // 0, or EDQUOT if these additional natives exceed the owner's share.
  int check_share(std::uint32_t dataset, OwnerKey owner, std::uint64_t bytes) const;

  // The copies that may be evicted.
  std::vector<std::uint32_t> who_gives_way(const Claim& claim);
  std::optional<EvictionPlan> over_limits() const;  // none before all is reconciled
  std::optional<FrameSeq> choose_victim(std::uint32_t dataset);
  SelectedFrames select(std::uint32_t dataset, const FrameSelection& selection) const;
  bool is_selected(std::uint32_t dataset, FrameSeq seq, const FrameSelection& selection) const;
  struct Evictions {
    std::uint64_t all = 0;
    std::uint64_t synced = 0;  // evictions whose room the disk has given back
  };
  Evictions evictions() const;
  void count_evictions(std::uint64_t frames);
  void note_synced(std::uint64_t evictions);

  Pins pins(std::uint32_t dataset) const;
  // Counts the pinned frames anew. Returns how much of the range is held.
  Amount set_pins(const NamesLock&, std::uint32_t dataset, Pins pins, FrameRange range = {});

  // The held frames are not known until all datasets are reconciled: see store.cc.
  bool is_reconciled() const;
  bool is_reconciled(std::uint32_t dataset) const;
  bool wait_until_reconciled();  // false: it was given up
  std::set<std::uint32_t> not_reconciled() const;
  void note_not_reconciled(std::uint32_t dataset);
  void note_reconciled(const NamesLock&, std::uint32_t dataset, std::optional<FrameSeq> newest);
  void give_up_reconciling();
  bool is_giving_up() const { return giving_up_; }
  std::uint64_t unknown_sizes(std::uint32_t dataset) const;
  // Shows a part of the frames, as FrameTable::look() does: all, or those without a size.
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
  std::atomic<bool> giving_up_ = false;  // set under mutex_, for the threads that wait
  std::condition_variable reconciled_;

  // Protects all members below it. The only system calls under it are statvfs(2) and those of a
  // table that grows or is sealed.
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
