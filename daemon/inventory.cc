#include "daemon/inventory.h"

namespace zazen {

void Inventory::add(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes) {
  remove(dataset, seq);
  Dataset& held = datasets_[dataset];
  (kind == FrameKind::kNative ? held.natives : held.aliens).emplace(seq, bytes);
  held.bytes += bytes;
  held.newest = seq;
  total_bytes_ += bytes;
  total_files_ += 1;
  if (kind == FrameKind::kAlien) alien_bytes_ += bytes;
}

bool Inventory::remove(std::uint32_t dataset, FrameSeq seq) {
  std::optional<HeldFrame> frame = find(dataset, seq);
  if (!frame) return false;
  Dataset& held = datasets_[dataset];
  (frame->kind == FrameKind::kNative ? held.natives : held.aliens).erase(seq);
  held.bytes -= frame->bytes;
  total_bytes_ -= frame->bytes;
  total_files_ -= 1;
  if (frame->kind == FrameKind::kAlien) alien_bytes_ -= frame->bytes;
  return true;
}

std::optional<HeldFrame> Inventory::find(std::uint32_t dataset, FrameSeq seq) const {
  const Dataset& held = datasets_[dataset];
  if (auto it = held.natives.find(seq); it != held.natives.end()) {
    return HeldFrame{FrameKind::kNative, it->second};
  }
  if (auto it = held.aliens.find(seq); it != held.aliens.end()) {
    return HeldFrame{FrameKind::kAlien, it->second};
  }
  return std::nullopt;
}

const Inventory::Frames& Inventory::frames(std::uint32_t dataset, FrameKind kind) const {
  const Dataset& held = datasets_[dataset];
  return kind == FrameKind::kNative ? held.natives : held.aliens;
}

std::optional<FrameSeq> Inventory::random_alien(std::uint32_t dataset,
                                                std::mt19937_64& random) const {
  const Frames& aliens = datasets_[dataset].aliens;
  if (aliens.empty()) return std::nullopt;
  std::uniform_int_distribution<std::size_t> pick(0, aliens.size() - 1);
  return std::next(aliens.begin(), static_cast<std::ptrdiff_t>(pick(random)))->first;
}

std::uint64_t Inventory::alien_files() const {
  std::uint64_t files = 0;
  for (const Dataset& held : datasets_) files += held.aliens.size();
  return files;
}

}  // namespace zazen
