#include "daemon/capacity/inventory.h"

#include <algorithm>

namespace zazen {
namespace {

constexpr FrameKind other_than(FrameKind kind) {
  return kind == FrameKind::kNative ? FrameKind::kAlien : FrameKind::kNative;
}

}  // namespace

void Inventory::add(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes,
                    OwnerKey owner) {
  table(dataset, other_than(kind)).erase(seq);
  table(dataset, kind).set(seq, bytes, owner);
  datasets_[dataset].newest = seq;
}

bool Inventory::remove(std::uint32_t dataset, FrameSeq seq) {
  return table(dataset, FrameKind::kNative).erase(seq) ||
         table(dataset, FrameKind::kAlien).erase(seq);
}

void Inventory::learn(std::uint32_t dataset, FrameSeq seq, std::uint64_t bytes,
                      OwnerKey owner) {
  if (std::optional<HeldFrame> held = find(dataset, seq)) {
    table(dataset, held->kind).set(seq, bytes, owner);
  }
}

std::optional<HeldFrame> Inventory::find(std::uint32_t dataset, FrameSeq seq) const {
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    if (std::optional<std::uint64_t> bytes = table(dataset, kind).find(seq)) {
      return HeldFrame{kind, *bytes == FrameTable::kUnknown ? 0 : *bytes,
                       table(dataset, kind).owner_of(seq)};
    }
  }
  return std::nullopt;
}

bool Inventory::knows_size(std::uint32_t dataset, FrameSeq seq) const {
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    if (std::optional<std::uint64_t> bytes = table(dataset, kind).find(seq)) {
      return *bytes != FrameTable::kUnknown;
    }
  }
  return false;
}

Inventory::Frames Inventory::frames(std::uint32_t dataset, FrameKind kind) const {
  Frames frames;
  frames.reserve(files(dataset, kind));
  table(dataset, kind).for_each([&](FrameSeq seq, std::uint64_t bytes) {
    frames.emplace_back(seq, bytes == FrameTable::kUnknown ? 0 : bytes);
  });
  std::sort(frames.begin(), frames.end());
  return frames;
}

std::uint64_t Inventory::bytes(std::uint32_t dataset) const {
  return table(dataset, FrameKind::kNative).bytes() + table(dataset, FrameKind::kAlien).bytes();
}

std::uint64_t Inventory::unknown_sizes(std::uint32_t dataset) const {
  return table(dataset, FrameKind::kNative).unknown() +
         table(dataset, FrameKind::kAlien).unknown();
}

std::uint64_t Inventory::native_bytes_of(OwnerKey owner) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < datasets(); ++i) {
    bytes += table(i, FrameKind::kNative).bytes_of(owner);
  }
  return bytes;
}

Inventory::Sum Inventory::sum(FrameKind kind) const {
  Sum sum;
  for (std::uint32_t i = 0; i < datasets(); ++i) {
    sum.files += table(i, kind).size();
    sum.bytes += table(i, kind).bytes();
  }
  return sum;
}

}  // namespace zazen
