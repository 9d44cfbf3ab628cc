// Loops without branches that the processor could not guess, but for one at each change: of a
// node's frames few change.
#include "coord/chunk_positions.h"

#include <algorithm>
#include <cstring>

namespace zazen {

bool ChunkPositions::read_gaps(std::span<const std::byte> gaps, std::size_t count,
                               std::size_t limit) {
  std::size_t position = 0, members = 0;
  for (std::byte byte : gaps) {
    const auto gap = std::to_integer<std::size_t>(byte);
    const std::size_t is_member = gap != 255;
    position += gap;
    positions_[members] = static_cast<std::uint16_t>(position);
    members += is_member;
    position += is_member;
  }
  size_ = members;
  const bool ended = gaps.empty() || gaps.back() != std::byte{255};
  return ended && members == count && position <= limit;
}

bool ChunkPositions::select(std::span<const std::uint16_t> whole,
                            std::span<const std::byte> bits) {
  if (bits.size() != (whole.size() + 63) / 64 * 8) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    positions_[size] = whole[i];
    size += std::to_integer<std::size_t>(bits[i / 8]) >> (i % 8) & 1;
  }
  size_ = size;
  if (whole.size() % 64 == 0) return true;
  std::uint64_t last;
  std::memcpy(&last, bits.last<sizeof last>().data(), sizeof last);
  return last >> (whole.size() % 64) == 0;
}

bool ChunkPositions::revise(std::span<const std::uint16_t> had,
                            std::span<const std::uint16_t> more,
                            std::span<const std::uint16_t> lost,
                            std::span<const std::uint16_t> adopted) {
  constexpr std::size_t kEnd = kChunkFrames;
  auto at = [](std::span<const std::uint16_t> positions, std::size_t i) {
    return i < positions.size() ? std::size_t{positions[i]} : kEnd;
  };
  std::uint16_t* out = positions_.data();
  bool wrong = false;
  std::size_t h = 0, m = 0, l = 0, a = 0;
  for (;;) {
    const std::size_t next = std::min({at(more, m), at(lost, l), at(adopted, a)});
    if (next == kEnd) break;
    for (; h < had.size() && had[h] < next; ++h) *out++ = had[h];
    const bool was_there = at(had, h) == next, is_more = at(more, m) == next;
    const bool is_lost = at(lost, l) == next, is_adopted = at(adopted, a) == next;
    h += was_there;
    m += is_more;
    l += is_lost;
    a += is_adopted;
    const bool has = was_there || is_more;
    wrong |= (is_lost && !has) || (is_adopted && has);
    *out = static_cast<std::uint16_t>(next);
    out += has != (is_lost || is_adopted);
  }
  out = std::copy(had.begin() + static_cast<std::ptrdiff_t>(h), had.end(), out);
  size_ = static_cast<std::size_t>(out - positions_.data());
  return !wrong;
}

Extent extent_of(std::span<const std::uint16_t> positions) {
  Extent extent{positions.size(), positions.empty() ? 0U : 1U};
  for (std::size_t i = 1; i < positions.size(); ++i)
    extent.runs += positions[i] != positions[i - 1] + 1;
  return extent;
}

std::size_t write_gaps(std::span<const std::uint16_t> positions, std::size_t most,
                       std::byte* out) {
  std::size_t size = 0, next = 0;
  for (std::uint16_t position : positions) {
    std::size_t gap = position - next;
    if (gap >= 255) [[unlikely]] {
      if (size + gap / 255 > most) return 0;
      for (; gap >= 255; gap -= 255) out[size++] = std::byte{255};
    }
    if (size == most) return 0;
    out[size++] = static_cast<std::byte>(gap);
    next = position + std::size_t{1};
  }
  return size;
}

}  // namespace zazen
