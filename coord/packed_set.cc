// Which form a chunk takes is decided from its bits: by counting them, by counting where runs
// begin, and, if there are few enough, by writing the gaps until they are too long.
//
// A bitmap is decoded ten times as fast as gaps, so the gaps must save a quarter.
#include "coord/packed_set.h"

#include <algorithm>

namespace zazen {
namespace {

struct ChunkHead {
  std::uint32_t count;
  std::uint16_t payload;  // in bytes
  std::uint8_t form;
  std::uint8_t zero;
};
static_assert(sizeof(ChunkHead) == 8);

constexpr std::size_t kPositionBytes = 2;
constexpr std::size_t kGapsAtMost = kChunkFrames / 8 * 3 / 4;

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

void store_position(std::byte* out, std::size_t index, std::size_t position) {
  const auto value = static_cast<std::uint16_t>(position);
  std::memcpy(out + index * kPositionBytes, &value, sizeof value);
}

std::size_t count_runs(const ChunkWords& words) {
  std::size_t runs = 0;
  std::uint64_t carry = 0;
  for (std::uint64_t word : words) {
    runs += static_cast<std::size_t>(std::popcount(word & ~(word << 1 | carry)));
    carry = word >> 63;
  }
  return runs;
}

struct Stride {
  std::size_t first = 0, step = 0;
};

// The stride of a chunk whose members all have the same distance, else a step of 0.
Stride find_stride(const ChunkWords& words, std::size_t count) {
  std::size_t first = 0, second = 0, last = 0, w = 0;
  while (words[w] == 0) ++w;
  first = w * 64 + static_cast<std::size_t>(std::countr_zero(words[w]));
  std::uint64_t rest = words[w] & (words[w] - 1);
  while (rest == 0) rest = words[++w];
  second = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  for (w = words.size() - 1; words[w] == 0;) --w;
  last = w * 64 + 63 - static_cast<std::size_t>(std::countl_zero(words[w]));
  const std::size_t step = second - first;
  if (first + step * (count - 1) != last) return {};
  for (std::size_t position = first; position <= last; position += step)
    if ((words[position / 64] >> (position % 64) & 1) == 0) return {};
  return {first, step};
}

// Writes the gaps; nothing if they take more than `limit` bytes.
std::size_t write_gaps(const ChunkWords& words, std::size_t limit, std::byte* out) {
  std::size_t size = 0, next = 0;
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1) {
      const std::size_t position = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      std::size_t gap = position - next;
      if (size + gap / 255 >= limit) return 0;
      for (; gap >= 255; gap -= 255) out[size++] = std::byte{255};
      out[size++] = static_cast<std::byte>(gap);
      next = position + 1;
    }
  return size;
}

}  // namespace

bool bitmap_is_sound(const PackedChunk& chunk, std::size_t limit) {
  const std::size_t words = (limit + 63) / 64;
  if (chunk.payload.size() != words * 8) return false;
  if (limit % 64 != 0 && load_word(chunk.payload.data(), words - 1) >> (limit % 64) != 0)
    return false;
  return count_bits(chunk.payload) == chunk.count;
}

bool or_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words) {
  return decode_chunk(chunk, limit, ByWords{[words](std::size_t w, std::uint64_t bits) {
                        (*words)[w] |= bits;
                      }});
}

bool is_sound(const PackedChunk& chunk, std::size_t limit) {
  return decode_chunk(chunk, limit, ByWords{[](std::size_t, std::uint64_t) {}});
}

bool any_bit(const ChunkWords& words) {
  std::uint64_t all = 0;
  for (std::uint64_t word : words) all |= word;
  return all != 0;
}

void PackedSet::begin_chunk(std::size_t chunk) {
  while (offsets_.size() < chunk) {
    offsets_.push_back(bytes_.size());
    extend(ChunkForm::kEmpty, 0, 0);
  }
  offsets_.push_back(bytes_.size());
}

std::byte* PackedSet::extend(ChunkForm form, std::size_t count, std::size_t payload) {
  const ChunkHead head{static_cast<std::uint32_t>(count), static_cast<std::uint16_t>(payload),
                       static_cast<std::uint8_t>(form), 0};
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof head + padded(payload));
  std::memcpy(bytes_.data() + at, &head, sizeof head);
  count_ += count;
  return bytes_.data() + at + sizeof head;
}

void PackedSet::put_chunk(std::size_t chunk, const ChunkWords& words) {
  const std::size_t count = count_bits(std::as_bytes(std::span<const std::uint64_t>(words)));
  if (count == 0) return;
  begin_chunk(chunk);
  const std::size_t bitmap = (chunk_limit(chunk) + 63) / 64 * 8;
  const std::size_t runs = count_runs(words) * 2 * kPositionBytes;
  const std::size_t list = count * kPositionBytes;
  if (runs > 2 * kPositionBytes && count > 2) {
    if (const Stride stride = find_stride(words, count); stride.step != 0) {
      std::byte* out = extend(ChunkForm::kStride, count, 2 * kPositionBytes);
      store_position(out, 0, stride.first);
      store_position(out, 1, stride.step);
      return;
    }
  }
  const std::size_t least = std::min({runs, list, bitmap});
  if (count < least && count < kGapsAtMost) {
    std::array<std::byte, kGapsAtMost> gaps;
    if (std::size_t size = write_gaps(words, std::min(least, kGapsAtMost), gaps.data())) {
      std::memcpy(extend(ChunkForm::kGaps, count, size), gaps.data(), size);
      return;
    }
  }
  if (runs == least) {
    std::byte* out = extend(ChunkForm::kRuns, count, runs);
    std::size_t filled = 0, next = kChunkFrames;
    for_each_bit(words, [&](std::size_t position) {
      if (position != next) store_position(out, 2 * filled++, position);
      store_position(out, 2 * filled - 1, position);
      next = position + 1;
    });
  } else if (list == least) {
    std::byte* out = extend(ChunkForm::kList, count, list);
    std::size_t filled = 0;
    for_each_bit(words, [&](std::size_t position) { store_position(out, filled++, position); });
  } else {
    std::memcpy(extend(ChunkForm::kBitmap, count, bitmap), words.data(), bitmap);
  }
}

void PackedSet::put_chunk(std::size_t chunk, const PackedChunk& packed) {
  if (packed.count == 0) return;
  begin_chunk(chunk);
  std::ranges::copy(packed.payload, extend(packed.form, packed.count, packed.payload.size()));
}

PackedChunk PackedSet::chunk(std::size_t chunk) const {
  if (chunk >= offsets_.size()) return {};
  PackedReader reader(bytes({chunk, chunk + 1}));
  PackedChunk packed;
  reader.next(chunk_limit(chunk), &packed);
  return packed;
}

std::span<const std::byte> PackedSet::bytes(Block chunks) const {
  auto offset = [&](std::size_t chunk) {
    return chunk < offsets_.size() ? offsets_[chunk] : bytes_.size();
  };
  return std::span(bytes_).subspan(offset(chunks.begin),
                                   offset(chunks.end) - offset(chunks.begin));
}

bool PackedReader::next(std::size_t limit, PackedChunk* chunk) {
  *chunk = {};
  if (rest_.empty()) return true;
  ChunkHead head;
  if (rest_.size() < sizeof head) return false;
  std::memcpy(&head, rest_.data(), sizeof head);
  rest_ = rest_.subspan(sizeof head);
  const std::size_t room = padded(head.payload);
  if (room > rest_.size() || head.zero != 0 || head.count > limit ||
      head.form > static_cast<std::uint8_t>(ChunkForm::kBitmap) ||
      (head.count == 0) != (head.form == static_cast<std::uint8_t>(ChunkForm::kEmpty)))
    return false;
  for (std::size_t i = head.payload; i < room; ++i)
    if (rest_[i] != std::byte{0}) return false;
  *chunk = {static_cast<ChunkForm>(head.form), head.count, rest_.first(head.payload)};
  rest_ = rest_.subspan(room);
  return true;
}

PackedSet PackedSet::pack(const Bitmap& frames) {
  PackedSet set(frames.size());
  std::span<const std::uint64_t> words = frames.words();
  for (std::size_t c = 0; c < set.chunks(); ++c) {
    ChunkWords chunk;
    std::span<const std::uint64_t> part =
        words.subspan(c * chunk.size(), (set.chunk_limit(c) + 63) / 64);
    std::ranges::fill(std::ranges::copy(part, chunk.begin()).out, chunk.end(), 0);
    set.put_chunk(c, chunk);
  }
  return set;
}

Result<PackedSet> PackedSet::decode(std::span<const std::byte> bytes, std::size_t domain) {
  PackedSet set(domain);
  PackedReader reader(bytes);
  for (std::size_t c = 0; c < set.chunks(); ++c) {
    PackedChunk chunk;
    if (!reader.next(set.chunk_limit(c), &chunk) || !is_sound(chunk, set.chunk_limit(c)))
      return Error{EBADMSG, "packed set", {}};
    set.put_chunk(c, chunk);
  }
  if (!reader.done()) return Error{EBADMSG, "packed set", {}};
  return set;
}

bool PackedSet::operator==(const PackedSet& other) const {
  if (domain_ != other.domain_ || count_ != other.count_) return false;
  if (std::ranges::equal(bytes_, other.bytes_)) return true;
  for (std::size_t c = 0; c < chunks(); ++c) {
    ChunkWords a{}, b{};
    or_chunk(chunk(c), chunk_limit(c), &a);
    or_chunk(other.chunk(c), chunk_limit(c), &b);
    if (a != b) return false;
  }
  return true;
}

void unpack(const PackedSet& set, Bitmap* out) {
  for (std::size_t c = 0; c < set.chunks(); ++c) {
    std::uint64_t* words = out->words().data() + c * (kChunkFrames / 64);
    decode_chunk(set.chunk(c), set.chunk_limit(c),
                 ByWords{[words](std::size_t w, std::uint64_t bits) { words[w] |= bits; }});
  }
}

PackedSet ranked_part(const PackedSet& set, Block members) {
  PackedSet part(set.domain());
  std::size_t before = 0;  // members of the chunks passed
  for (std::size_t c = 0; c < set.chunks() && before < members.end; ++c) {
    const PackedChunk chunk = set.chunk(c);
    const std::size_t after = before + chunk.count;
    if (before >= members.begin && after <= members.end) {
      part.put_chunk(c, chunk);
    } else if (after > members.begin) {
      ChunkWords words{}, wanted{};
      or_chunk(chunk, set.chunk_limit(c), &words);
      for_each_bit(words, [&, number = before](std::size_t position) mutable {
        if (number >= members.begin && number < members.end)
          wanted[position / 64] |= std::uint64_t{1} << (position % 64);
        ++number;
      });
      part.put_chunk(c, wanted);
    }
    before = after;
  }
  return part;
}

void PackedSetWriter::flush(std::size_t next_chunk) {
  if (dirty_) {
    set_.put_chunk(chunk_, words_);
    words_.fill(0);
  }
  dirty_ = false;
  chunk_ = next_chunk;
}

void PackedSetWriter::append_run(std::size_t first, std::size_t stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) append(first + i * stride);
}

PackedSet PackedSetWriter::take() {
  flush(0);
  return std::move(set_);
}

}  // namespace zazen
