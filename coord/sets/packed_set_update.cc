#include "coord/sets/packed_set_update.h"

#include <algorithm>

namespace zazen {
namespace {

bool have_common(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  return std::ranges::any_of(
      a, [b](std::uint16_t position) { return std::ranges::binary_search(b, position); });
}

}  // namespace

PackedChunk PackedSetUpdate::next() {
  if (anew_)
    reader_.next(set_.chunk_limit(chunk_), &old_);
  else
    old_ = set_.chunk(chunk_);
  return old_;
}

void PackedSetUpdate::keep() {
  if (anew_) set_.put_chunk(chunk_, old_);
  ++chunk_;
}

// revise(bytes) changes the words of the chunk. A bitmap is changed in place.
template <class Revise>
bool PackedSetUpdate::change_words(Revise&& revise) {
  ChunkWords words;
  const std::span<std::byte> bitmap = anew_ ? std::span<std::byte>() : set_.bitmap(chunk_);
  if (!bitmap.empty()) {
    if (!revise(bitmap.first<sizeof(ChunkWords)>())) return false;
    if (const std::size_t count = count_bits(bitmap); count != 0) {
      set_.recount(chunk_++, count);
      return true;
    }
    words.fill(0);
  } else {
    read_chunk(old_, set_.chunk_limit(chunk_), &words);
    if (!revise(std::as_writable_bytes(std::span(words)))) return false;
  }
  put_rest_anew();
  set_.put_chunk(chunk_++, words);
  return true;
}

bool PackedSetUpdate::change(const ChunkWords& more, const ChunkWords& lost,
                             const ChunkWords& adopted) {
  return change_words([&](std::span<std::byte, sizeof(ChunkWords)> words) {
    return revise(words, more, lost, adopted);
  });
}

bool PackedSetUpdate::change(std::span<const std::uint16_t> more,
                             std::span<const std::byte> lost,
                             std::span<const std::uint16_t> adopted) {
  return change_words([&](std::span<std::byte, sizeof(ChunkWords)> words) {
    const bool adopts_new = merge(adopted, {}, words), disjoint = merge(more, lost, words);
    // `more` may overlap the present frames or the adopted ones.
    return adopts_new && (disjoint || !have_common(more, adopted));
  });
}

void PackedSetUpdate::put_rest_anew() {
  if (anew_) return;
  const std::span<const std::byte> rest = set_.bytes({chunk_ + 1, set_.chunks()});
  rest_.resize(rest.size());
  std::ranges::copy(rest, rest_.data());
  reader_ = PackedReader(rest_);
  set_.truncate(chunk_);
  anew_ = true;
}

}  // namespace zazen
