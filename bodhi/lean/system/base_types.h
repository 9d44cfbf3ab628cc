// The few types that every component shares. Lean: usable in the shim.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

namespace zazen {

using FrameSeq = std::uint64_t;

struct FrameRange {  // both ends included
  FrameSeq first = 0;
  FrameSeq last = ~FrameSeq{0};
  bool contains(FrameSeq seq) const { return first <= seq && seq <= last; }
  bool operator==(const FrameRange&) const = default;
};

enum class FrameKind : std::uint16_t { kNative = 1, kAlien = 2 };

inline constexpr std::size_t kMaxPath = 1024;     // of a dataset, cache or runtime directory
inline constexpr std::size_t kMaxTemplate = 256;  // of a frame name template
inline constexpr std::size_t kMaxNodeName = 64;
inline constexpr std::size_t kMaxDatasets = 256;

struct NodeId {  // made once for each cache; a node is a daemon, not a host name (D11)
  std::uint8_t bytes[16];
  bool operator==(const NodeId&) const = default;
  auto operator<=>(const NodeId&) const = default;
};

}  // namespace zazen
