// FrameTable: the frames of one kind that one dataset holds, their sizes and owners: a hash
// table in a mapped file, which is its own snapshot.
//
// Sixteen bytes for a slot, at least an eighth and at most three quarters of them used (beyond
// that it is written anew), so ten million frames take 256 MB of page cache and no memory of
// the process. While the daemon serves, the file says nothing; a clean stop seals it with a
// checksum and a stamp, and the next start resumes it if both are right. Where no file can be
// made the table lives in memory.
//
// Open addressing with linear probing; a removed slot is closed by moving its followers up.
// Sixteen frames with neighbouring numbers are neighbours in the table.
//
// Not thread safe; RoomLedger has the lock.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

struct FrameTableHeader;

// Whose frame it is: a user's number modulo 65,535. Users with the same remainder count as one.
using OwnerKey = std::uint16_t;
inline constexpr uid_t kNoUser = static_cast<uid_t>(-1);
inline constexpr OwnerKey kUnknownOwner = 0;
constexpr OwnerKey owner_key(uid_t uid) {
  return uid == kNoUser ? kUnknownOwner : static_cast<OwnerKey>(uid % 65'535 + 1);
}

class FrameTable {
 public:
  static constexpr std::uint64_t kUnknown =
      (std::uint64_t{1} << 48) - 2;  // a size that is not known yet
  static constexpr std::uint64_t kSlotsOfOneLook = 65'536;

  FrameTable() = default;  // empty, in memory
  FrameTable(FrameTable&& other) noexcept { swap(other); }
  FrameTable& operator=(FrameTable&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FrameTable();

  struct Seal {
    std::uint64_t stamp = 0;      // the same for all tables of one clean stop
    std::uint64_t log_bytes = 0;  // of the sequence log that says the same
    std::optional<FrameSeq> newest;
  };
  // From now on it is kept in this file of the directory, whose descriptor must outlive it.
  // What the file has is taken over if it was sealed with this stamp (0 is none) and is whole.
  std::optional<Seal> keep_in(int directory_fd, const std::string& name, std::uint64_t stamp);
  // Says in the file that it is whole. The caller flushes it. 0 or an errno.
  int seal(const Seal& seal);

  void reserve(std::uint64_t frames);
  // Adds it or changes its size and owner.
  void set(FrameSeq seq, std::uint64_t bytes, OwnerKey owner = kUnknownOwner);
  bool erase(FrameSeq seq);
  std::optional<std::uint64_t> find(FrameSeq seq) const;
  OwnerKey owner_of(FrameSeq seq) const;  // of a frame that is there

  std::uint64_t size() const;
  std::uint64_t bytes() const;    // of those whose size is known
  std::uint64_t unknown() const;  // how many have no known size
  std::uint64_t bytes_of(OwnerKey owner) const;
  // Any, each about as likely as the others. Constant time.
  std::optional<FrameSeq> random(std::mt19937_64& random) const;

  // The least and the greatest number; none if there is no frame. Known from the last time, or
  // found by a look at all, during which the mutex is let go: one that is removed then may be
  // said nevertheless.
  struct Extent {
    FrameSeq first, last;
  };
  template <class Mutex>
  std::optional<Extent> extent(Mutex& mutex) const {
    if (std::unique_lock lock(mutex); extent_ || size() == 0) return extent_;
    Extent found{};
    std::uint64_t changes = 0;
    look_at_all(
        mutex,
        [&] {
          found = {std::numeric_limits<FrameSeq>::max(), 0};
          changes = changes_;
        },
        [&](FrameSeq seq, std::uint64_t) {
          found = {std::min(found.first, seq), std::max(found.last, seq)};
        });
    std::unique_lock lock(mutex);
    if (size() == 0) return std::nullopt;
    if (changes == changes_) extent_ = found;
    return found;
  }

  // Shows what lies in a part of the slots, so that a long look can be taken in parts: starts
  // with 0, and goes on with what it returns until that is 0 again.
  template <class Show>
  std::uint64_t look(std::uint64_t from, std::uint64_t slots, Show&& show) const {
    if (from >= slot_count()) return 0;  // it has shrunk
    std::uint64_t end = slot_count() - from > slots ? from + slots : slot_count();
    for (std::uint64_t i = from; i < end; ++i) {
      if (slots_[i].word != 0) show(slots_[i].seq, slots_[i].bytes());
    }
    return end < slot_count() ? end : 0;
  }
  template <class Show>
  void for_each(Show&& show) const {
    look(0, slot_count(), show);
  }
  // Shows all, a part at a time, and lets the mutex, which protects the table, go in between.
  // What is there all the time is shown. If it was rearranged meanwhile, begin() is called once
  // more and all is shown anew; if that goes on, the mutex is held for all of it.
  template <class Mutex, class Begin, class Show>
  void look_at_all(Mutex& mutex, Begin&& begin, Show&& show) const {
    constexpr int kMostAttempts = 8;
    std::unique_lock lock(mutex);
    for (int attempt = 1;; ++attempt) {
      begin();
      const std::uint64_t arrangement = arrangement_;
      std::uint64_t position = 0;
      while (arrangement == arrangement_) {
        position =
            look(position, attempt < kMostAttempts ? kSlotsOfOneLook : slot_count(), show);
        if (position == 0) return;
        lock.unlock();
        lock.lock();
      }
    }
  }

 private:
  struct Slot {
    FrameSeq seq;
    std::uint64_t word;  // 48 bits: the size + 1, 0 if the slot is free; 16 bits: the owner
    std::uint64_t bytes() const { return (word & (kUnknown + 1)) - 1; }
    OwnerKey owner() const { return static_cast<OwnerKey>(word >> 48); }
  };
  static_assert(sizeof(Slot) == 16);

  std::uint64_t slot_count() const { return header_ == nullptr ? 0 : mask_ + 1; }
  std::uint64_t home_of(FrameSeq seq) const;
  std::uint64_t slot_of(FrameSeq seq) const;  // where it is, or the free slot where it belongs
  void count(const Slot& slot, std::uint64_t by);
  void resize(std::uint32_t slots_log2);
  void* make_memory(std::uint32_t slots_log2);
  void use(void* memory, std::uint32_t slots_log2);
  std::optional<Seal> resume(std::uint64_t stamp);
  void swap(FrameTable& other) noexcept;

  int directory_fd_ = -1;
  std::string name_;
  bool in_file_ = false;
  FrameTableHeader* header_ = nullptr;  // null: not a frame yet
  Slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t arrangement_ = 0;  // another one when a frame moves to another part of a look
  std::uint64_t changes_ = 0;      // frames that were added or removed
  mutable std::optional<Extent> extent_;  // if it is known
  std::map<OwnerKey, std::uint64_t> bytes_of_owners_;
};

}  // namespace zazen
