// FrameTable: the frames of one kind that one dataset holds, with their sizes and owners. It is
// a hash table in a mapped file, which is its own snapshot.
//
// A slot has sixteen bytes. At least an eighth and at most three quarters of the slots are
// used; beyond that the table is rebuilt. Ten million frames take 256 MB of page cache and no
// memory of the process. While the daemon serves, the file is marked invalid. A clean stop
// seals it with a checksum and a stamp, and the next start resumes it if both are right. The
// table is in memory where no file can be made.
//
// Open addressing with linear probing; removing an entry moves its followers up. Sixteen frames
// with neighbouring numbers are neighbours in the table.
//
// Not thread safe; RoomLedger has the lock.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

struct FrameTableHeader;

// The owner of a frame: a user's number modulo 65,535. Users with the same remainder count as
// one.
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
  // Keeps the table in this file of the directory, whose descriptor must outlive the table. The
  // content of the file is used if it is whole and was sealed with this stamp (0 is none).
  std::optional<Seal> keep_in(int directory_fd, const std::string& name, std::uint64_t stamp);
  // Marks the file as whole. The caller flushes it. 0 or an errno.
  int seal(const Seal& seal);

  void reserve(std::uint64_t frames);
  // Adds the frame or changes its size and owner.
  void set(FrameSeq seq, std::uint64_t bytes, OwnerKey owner = kUnknownOwner);
  bool erase(FrameSeq seq);
  std::optional<std::uint64_t> find(FrameSeq seq) const;
  OwnerKey owner_of(FrameSeq seq) const;  // of a frame that is there

  std::uint64_t size() const;
  std::uint64_t bytes() const;    // of those whose size is known
  std::uint64_t unknown() const;  // how many have no known size
  std::uint64_t bytes_of(OwnerKey owner) const;
  // A random frame, each about as likely as the others. Constant time.
  std::optional<FrameSeq> random(std::mt19937_64& random) const;

  // The least and the greatest number; none if there is no frame. The result of the last search
  // is kept while it holds. Otherwise a walk finds them and releases the mutex between its
  // parts, so a frame that is removed meanwhile may still be returned.
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

  // Shows the entries of a part of the slots, so that a walk can be taken in parts. It starts
  // with 0 and goes on with the return value until that is 0 again.
  template <class Show>
  std::uint64_t look(std::uint64_t from, std::uint64_t slots, Show&& show) const {
    if (from >= slot_count()) return 0;  // the table has shrunk
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
  // Shows all entries, a part at a time, and releases the mutex, which protects the table,
  // between the parts. An entry that is there all the time is shown. After a rearrangement the
  // walk calls begin() again and starts anew. The last attempt holds the mutex for the whole
  // walk.
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
  std::uint64_t slot_of(FrameSeq seq) const;  // its slot, or the free slot for it
  void count(const Slot& slot, std::uint64_t by);
  void resize(std::uint32_t slots_log2);
  void* make_memory(std::uint32_t slots_log2);
  void use(void* memory, std::uint32_t slots_log2);
  std::optional<Seal> resume(std::uint64_t stamp);
  void swap(FrameTable& other) noexcept;

  int directory_fd_ = -1;
  std::string name_;
  bool in_file_ = false;
  FrameTableHeader* header_ = nullptr;  // null: there is no table yet
  Slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t arrangement_ = 0;  // changes when a frame moves to another part of a walk
  std::uint64_t changes_ = 0;      // frames that were added or removed
  mutable std::optional<Extent> extent_;  // if it is known
  std::map<OwnerKey, std::uint64_t> bytes_of_owners_;
};

// FrameCursor: walks through the frames of a dataset in rounds, a bounded slice at a time.
//
// A frame that is added, removed or moved between two slices may appear twice in a round or not
// at all; the next round has it. The caller holds the lock of the tables.
class FrameCursor {
 public:
  static constexpr std::uint64_t kFrames = 1'000, kSlots = 1'024;  // a slice is below their sum

  std::vector<FrameSeq> next(const std::array<const FrameTable*, 2>& tables) {
    std::vector<FrameSeq> frames;
    for (int ends = 0; ends < 2 && frames.size() < kFrames;) {
      position_ = tables[table_]->look(
          position_, kSlots, [&](FrameSeq seq, std::uint64_t) { frames.push_back(seq); });
      if (position_ != 0) continue;
      table_ = 1 - table_;
      ++ends;
    }
    return frames;
  }

 private:
  std::size_t table_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace zazen
