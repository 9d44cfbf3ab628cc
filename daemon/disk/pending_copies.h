// PendingCopies: copies without a name that may get one. These are fills and pushes under way,
// suspended copies, and natives that wait.
//
// The table tells programs how many there are of a frame (Table::pending). A program that
// changes a frame does not tell the daemon if there is neither a pending copy nor one under the
// frame's name. So a copy is added here before the origin is examined for it. It is removed
// after it has its name or is gone.
//
// A slot of the table stands for several frames. Thread safe; the lock is held for a moment
// only.
#pragma once
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "bodhi/lean/frames/table.h"

namespace zazen {

class PendingCopies {
 public:
  using Slots = std::atomic<std::uint64_t>*;  // Table::pending

  // The table gets the same numbers until it is hidden.
  void show(Slots table);
  void hide(Slots table);

  class Mark {  // one copy
   public:
    Mark() = default;
    Mark(PendingCopies& of, std::uint32_t dataset, FrameSeq seq)
        : of_(&of), slot_(pending_slot(dataset, seq)) {
      of_->change(slot_, kOnePending);
    }
    Mark(Mark&& other) noexcept { *this = std::move(other); }
    Mark& operator=(Mark&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(slot_, other.slot_);
      other.reset();
      return *this;
    }
    ~Mark() { reset(); }
    void reset() {
      constexpr std::uint64_t kOneFewer = ~std::uint64_t{0};  // in the low half, pending_now()
      if (of_ != nullptr) std::exchange(of_, nullptr)->change(slot_, kOneFewer);
    }

   private:
    PendingCopies* of_ = nullptr;
    std::size_t slot_ = 0;
  };

 private:
  void change(std::size_t slot, std::uint64_t by);

  std::mutex mutex_;
  std::array<std::uint64_t, kPendingSlots> counts_ = {};
  std::vector<Slots> shown_;
};

}  // namespace zazen
