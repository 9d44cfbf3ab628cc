// Inventory: which frames the node holds, of which kind and size. A frame is held once, as a
// native or as an alien. An entry that comes from a sequence log has no known size until the
// store has seen its file.
//
// The frames are in tables of mapped files (frame_table.h), so their number costs the process
// no memory. A clean stop leaves the tables for the next start. No lock; RoomLedger has one.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "bodhi/lean/system/base_types.h"
#include "daemon/capacity/frame_table.h"

namespace zazen {

struct HeldFrame {
  FrameKind kind;
  std::uint64_t bytes;  // 0 if not known
  OwnerKey owner = kUnknownOwner;
};

struct HeldTables {                  // of one dataset
  std::array<FrameTable, 2> tables;  // natives, aliens
  std::optional<FrameSeq> newest;

  const FrameTable& table(FrameKind kind) const {
    return tables[kind == FrameKind::kNative ? 0 : 1];
  }
  FrameTable& table(FrameKind kind) { return tables[kind == FrameKind::kNative ? 0 : 1]; }
};

class Inventory {
 public:
  using Frames = std::vector<std::pair<FrameSeq, std::uint64_t>>;  // with the size in bytes

  explicit Inventory(std::size_t datasets) : datasets_(datasets) {}

  void set_dataset(std::uint32_t dataset, HeldTables held) {
    datasets_[dataset] = std::move(held);
  }
  // Replaces the entry of this number. The frame becomes the dataset's newest.
  void add(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes,
           OwnerKey owner = kUnknownOwner);
  bool remove(std::uint32_t dataset, FrameSeq seq);
  // The size and owner of a held frame whose file was seen.
  void learn(std::uint32_t dataset, FrameSeq seq, std::uint64_t bytes, OwnerKey owner);
  void set_newest(std::uint32_t dataset, std::optional<FrameSeq> seq) {
    datasets_[dataset].newest = seq;
  }

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
  bool knows_size(std::uint32_t dataset, FrameSeq seq) const;
  Frames frames(std::uint32_t dataset, FrameKind kind) const;  // ascending; walks all
  // Near-uniform, in constant time.
  std::optional<FrameSeq> random_alien(std::uint32_t dataset, std::mt19937_64& random) const {
    return table(dataset, FrameKind::kAlien).random(random);
  }
  std::optional<FrameSeq> newest(std::uint32_t dataset) const {  // may have been removed since
    return datasets_[dataset].newest;
  }

  std::size_t datasets() const { return datasets_.size(); }
  std::uint64_t files(std::uint32_t dataset, FrameKind kind) const {
    return table(dataset, kind).size();
  }
  std::uint64_t bytes(std::uint32_t dataset) const;
  std::uint64_t unknown_sizes(std::uint32_t dataset) const;
  // Over all datasets.
  std::uint64_t total_bytes() const { return alien_bytes() + sum(FrameKind::kNative).bytes; }
  std::uint64_t total_files() const { return alien_files() + sum(FrameKind::kNative).files; }
  std::uint64_t native_bytes_of(OwnerKey owner) const;
  std::uint64_t alien_bytes() const { return sum(FrameKind::kAlien).bytes; }
  std::uint64_t alien_files() const { return sum(FrameKind::kAlien).files; }

  const FrameTable& table(std::uint32_t dataset, FrameKind kind) const {
    return datasets_[dataset].table(kind);
  }
  FrameTable& table(std::uint32_t dataset, FrameKind kind) {
    return datasets_[dataset].table(kind);
  }

 private:
  struct Sum {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };
  Sum sum(FrameKind kind) const;

  std::vector<HeldTables> datasets_;
};

}  // namespace zazen
