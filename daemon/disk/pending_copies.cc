#include "daemon/disk/pending_copies.h"

namespace zazen {

void PendingCopies::show(Slots table) {
  std::lock_guard lock(mutex_);
  shown_.push_back(table);
  for (std::size_t i = 0; i < kPendingSlots; ++i) table[i] = counts_[i];
}

void PendingCopies::hide(Slots table) {
  std::lock_guard lock(mutex_);
  std::erase(shown_, table);
}

void PendingCopies::change(std::size_t slot, std::uint64_t by) {
  std::lock_guard lock(mutex_);
  counts_[slot] += by;
  for (Slots table : shown_) table[slot] = counts_[slot];
}

}  // namespace zazen
