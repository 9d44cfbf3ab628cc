// Inventory: which frames the node holds, of which kind and size, in memory. No input or
// output and no lock; the store keeps it true to the disk. A frame is held once: as a native
// or as an alien.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "bodhi/base_types.h"

namespace zazen {

struct HeldFrame {
  FrameKind kind;
  std::uint64_t bytes;
};

class Inventory {
 public:
  using Frames = std::map<FrameSeq, std::uint64_t>;  // to the size in bytes

  explicit Inventory(std::size_t datasets) : datasets_(datasets) {}

  // Replaces what was held under this number. The frame becomes the dataset's newest.
  void add(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes);
  bool remove(std::uint32_t dataset, FrameSeq seq);

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
  const Frames& frames(std::uint32_t dataset, FrameKind kind) const;
  std::optional<FrameSeq> random_alien(std::uint32_t dataset, std::mt19937_64& random) const;
  std::uint64_t bytes(std::uint32_t dataset) const { return datasets_[dataset].bytes; }
  std::optional<FrameSeq> newest(std::uint32_t dataset) const {
    return datasets_[dataset].newest;
  }

  std::size_t datasets() const { return datasets_.size(); }
  std::uint64_t total_bytes() const { return total_bytes_; }
  std::uint64_t total_files() const { return total_files_; }
  std::uint64_t alien_bytes() const { return alien_bytes_; }
  std::uint64_t alien_files() const;

 private:
  struct Dataset {
    Frames natives;
    Frames aliens;
    std::uint64_t bytes = 0;
    std::optional<FrameSeq> newest;  // may have been removed since
  };
  std::vector<Dataset> datasets_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t total_files_ = 0;
  std::uint64_t alien_bytes_ = 0;
};

}  // namespace zazen
