// The form of a chunk is decided from its bits: by their number, and by the number of runs. If
// there are few enough, the gaps are written until they are too long.
//
// A bitmap is decoded several times as fast as gaps, so the gaps must save a quarter.
#include "coord/sets/packed_set.h"

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
constexpr std::size_t kGapsMost = sizeof(ChunkWords) * 3 / 4;

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

void store_head(std::byte* out, ChunkForm form, std::size_t count, std::size_t payload) {
  const ChunkHead head{static_cast<std::uint32_t>(count), static_cast<std::uint16_t>(payload),
                       static_cast<std::uint8_t>(form), 0};
  std::memcpy(out, &head, sizeof head);
}

void store_position(std::byte* out, std::size_t index, std::size_t position) {
  const auto value = static_cast<std::uint16_t>(position);
  std::memcpy(out + index * kPositionBytes, &value, sizeof value);
}

// This number of bits in whole words, the rest of the last one zero.
bool is_of_size(std::span<const std::byte> bytes, std::size_t bits) {
  const std::size_t words = (bits + 63) / 64;
  return bytes.size() == words * 8 &&
         (bits % 64 == 0 || load_word(bytes.data(), words - 1) >> (bits % 64) == 0);
}

struct Stride {
  std::size_t first = 0, step = 0;
};

// The operations of put_members() on a chunk's members; another struct has the other form.
struct WordMembers {
  const ChunkWords& words;

  Extent extent() const { return extent_of(words); }
  // The stride of a chunk whose members all have the same distance, else a step of 0.
  Stride stride(std::size_t count) const {
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
  // The chunk has at most `most` members.
  std::size_t gaps(std::size_t count, std::size_t most, std::byte* out) const {
    std::array<std::uint16_t, kGapsMost + kListRoom> positions;
    list_members(words, count, positions.data());
    return write_gaps(std::span(positions).first(count), most, out);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_bit(words, visit);
  }
  void bitmap(std::byte* out, std::size_t size) const { std::memcpy(out, words.data(), size); }
};

struct PositionMembers {
  std::span<const std::uint16_t> positions;

  Extent extent() const { return extent_of(positions); }
  Stride stride(std::size_t count) const {
    const std::size_t first = positions[0], step = positions[1] - first;
    for (std::size_t i = 2; i < count; ++i)
      if (positions[i] != first + i * step) return {};
    return {first, step};
  }
  std::size_t gaps(std::size_t, std::size_t most, std::byte* out) const {
    return write_gaps(positions, most, out);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t position : positions) visit(position);
  }
  void bitmap(std::byte* out, std::size_t size) const {
    std::fill_n(out, size, std::byte{0});
    for (std::size_t position : positions)
      out[position / 8] |= std::byte{1} << static_cast<int>(position % 8);
  }
};

}  // namespace

bool bitmap_is_sound(const PackedChunk& chunk, std::size_t limit) {
  return is_of_size(chunk.payload, limit) && count_bits(chunk.payload) == chunk.count;
}

bool part_is_sound(const PackedChunk& chunk, std::size_t whole) {
  if (chunk.form == ChunkForm::kEmpty) return chunk.payload.empty();
  return chunk.form == ChunkForm::kPart && bitmap_is_sound(chunk, whole);
}

bool read_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words) {
  if (chunk.form == ChunkForm::kGaps)
    return read_gaps(chunk.payload, chunk.count, limit, words);
  words->fill(0);
  return add_chunk(chunk, limit, words);
}

bool add_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words) {
  if (chunk.form == ChunkForm::kGaps) return add_gaps(chunk.payload, chunk.count, limit, words);
  if (chunk.form == ChunkForm::kBitmap && chunk.payload.size() == sizeof(ChunkWords)) {
    return is_of_size(chunk.payload, limit) &&
           unite(chunk.payload.first<sizeof(ChunkWords)>(), words) == chunk.count;
  }
  return decode_chunk(chunk, limit, ByWords{[words](std::size_t w, std::uint64_t bits) {
                        (*words)[w] |= bits;
                      }});
}

bool read_part(const PackedChunk& chunk, std::size_t limit, const ChunkWords& whole,
               ChunkWords* words) {
  if (chunk.form != ChunkForm::kPart) return read_chunk(chunk, limit, words);
  return count_bits(chunk.payload) == chunk.count && scatter_bits(chunk.payload, whole, words);
}

bool is_sound(const PackedChunk& chunk, std::size_t limit) {
  return decode_chunk(chunk, limit, ByWords{[](std::size_t, std::uint64_t) {}});
}

bool is_sparse(const PackedChunk& chunk) {
  return chunk.form != ChunkForm::kBitmap && chunk.form != ChunkForm::kPart &&
         chunk.count <= kFewMembers &&
         (chunk.form != ChunkForm::kGaps || chunk.payload.size() <= kFewMembers);
}

bool read_chunk(const PackedChunk& chunk, std::size_t limit, ChunkPositions* positions) {
  if (chunk.form == ChunkForm::kGaps)
    return positions->read_gaps(chunk.payload, chunk.count, limit);
  struct Append {
    ChunkPositions& to;
    std::size_t most;
    void bit(std::size_t position) { range(position, position); }
    void stride(std::size_t first, std::size_t stride, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) bit(first + i * stride);
    }
    void range(std::size_t first, std::size_t last) {
      for (; first <= last && to.size() < most; ++first) to.append(first);
    }
    void words(const std::byte*, std::size_t) {}
  };
  positions->clear();
  return decode_chunk(chunk, limit, Append{*positions, chunk.count});
}

bool read_part(const PackedChunk& chunk, std::size_t limit,
               std::span<const std::uint16_t> whole, ChunkPositions* positions) {
  if (chunk.form != ChunkForm::kPart) return read_chunk(chunk, limit, positions);
  return positions->select(whole, chunk.payload) && positions->size() == chunk.count;
}

void PackedSet::begin_chunk(std::size_t chunk) {
  while (offsets_.size() < chunk) {
    offsets_.push_back(bytes_.size());
    extend(ChunkForm::kEmpty, 0, 0);
  }
  offsets_.push_back(bytes_.size());
}

std::byte* PackedSet::extend(ChunkForm form, std::size_t count, std::size_t payload) {
  const std::size_t at = bytes_.size(), room = padded(payload);
  bytes_.resize(at + sizeof(ChunkHead) + room);
  std::byte* head = bytes_.data() + at;
  store_head(head, form, count, payload);
  std::byte* out = head + sizeof(ChunkHead);
  std::fill(out + payload, out + room, std::byte{0});
  count_ += count;
  return out;
}

void PackedSet::put_chunk(std::size_t chunk, const ChunkWords& words) {
  put_members(chunk, WordMembers{words});
}

void PackedSet::put_chunk(std::size_t chunk, std::span<const std::uint16_t> positions) {
  put_members(chunk, PositionMembers{positions});
}

template <class Members>
void PackedSet::put_members(std::size_t chunk, const Members& members) {
  const auto [count, run_count] = members.extent();
  if (count == 0) return;
  begin_chunk(chunk);
  const std::size_t bitmap = (chunk_limit(chunk) + 63) / 64 * 8;
  const std::size_t runs = run_count * 2 * kPositionBytes;
  const std::size_t list = count * kPositionBytes;
  if (runs > 2 * kPositionBytes && count > 2) {
    if (const Stride stride = members.stride(count); stride.step != 0) {
      std::byte* out = extend(ChunkForm::kStride, count, 2 * kPositionBytes);
      store_position(out, 0, stride.first);
      store_position(out, 1, stride.step);
      return;
    }
  }
  const std::size_t least = std::min({runs, list, bitmap});
  const std::size_t gaps_below = std::min(least, bitmap * 3 / 4);
  if (count < gaps_below && put_gaps(members, count, gaps_below - 1)) return;
  if (runs == least) {
    std::byte* out = extend(ChunkForm::kRuns, count, runs);
    std::size_t filled = 0, next = kChunkFrames;
    members.for_each([&](std::size_t position) {
      if (position != next) store_position(out, 2 * filled++, position);
      store_position(out, 2 * filled - 1, position);
      next = position + 1;
    });
  } else if (list == least) {
    std::byte* out = extend(ChunkForm::kList, count, list);
    std::size_t filled = 0;
    members.for_each([&](std::size_t position) { store_position(out, filled++, position); });
  } else {
    members.bitmap(extend(ChunkForm::kBitmap, count, bitmap), bitmap);
  }
}

void PackedSet::put_part(std::size_t chunk, const ChunkWords& words, const ChunkWords& whole) {
  ChunkWords bits;
  const std::size_t size = gather_bits(words, whole, &bits);
  if (!put_bits(chunk, std::span(bits).first(size))) put_chunk(chunk, words);
}

void PackedSet::put_part(std::size_t chunk, std::span<const std::uint64_t> bits,
                         std::span<const std::uint16_t> whole) {
  if (put_bits(chunk, bits)) return;
  ChunkPositions part;
  part.select(whole, std::as_bytes(bits));
  put_chunk(chunk, part.all());
}

// False if they would not be shorter than a byte for each member.
bool PackedSet::put_bits(std::size_t chunk, std::span<const std::uint64_t> bits) {
  const std::size_t count = count_bits(std::as_bytes(bits));
  if (count == 0) return true;
  if (bits.size_bytes() >= count) return false;
  begin_chunk(chunk);
  std::memcpy(extend(ChunkForm::kPart, count, bits.size_bytes()), bits.data(),
              bits.size_bytes());
  return true;
}

// Written in place, and then truncated to the used length.
template <class Members>
bool PackedSet::put_gaps(const Members& members, std::size_t count, std::size_t most) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof(ChunkHead) + padded(most));
  const std::size_t size = members.gaps(count, most, bytes_.data() + at + sizeof(ChunkHead));
  bytes_.resize(at);
  if (size != 0) extend(ChunkForm::kGaps, count, size);
  return size != 0;
}

std::span<std::byte> PackedSet::bitmap(std::size_t chunk) {
  const PackedChunk packed = this->chunk(chunk);
  if (packed.form != ChunkForm::kBitmap || packed.payload.size() != sizeof(ChunkWords))
    return {};
  return {bytes_.data() + offsets_[chunk] + sizeof(ChunkHead), sizeof(ChunkWords)};
}

void PackedSet::recount(std::size_t chunk, std::size_t count) {
  const PackedChunk packed = this->chunk(chunk);
  store_head(bytes_.data() + offsets_[chunk], packed.form, count, packed.payload.size());
  count_ = count_ - packed.count + count;
}

void PackedSet::truncate(std::size_t chunk) {
  for (std::size_t c = chunk; c < offsets_.size(); ++c) count_ -= this->chunk(c).count;
  if (chunk >= offsets_.size()) return;
  bytes_.resize(offsets_[chunk]);
  offsets_.resize(chunk);
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
  return bytes().subspan(offset(chunks.begin), offset(chunks.end) - offset(chunks.begin));
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
      head.form > static_cast<std::uint8_t>(ChunkForm::kPart) ||
      (head.count == 0) != (head.form == static_cast<std::uint8_t>(ChunkForm::kEmpty)) ||
      (head.count == 0 && head.payload != 0))
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
  if (std::ranges::equal(bytes(), other.bytes())) return true;
  for (std::size_t c = 0; c < chunks(); ++c) {
    ChunkWords a, b;
    read_chunk(chunk(c), chunk_limit(c), &a);
    read_chunk(other.chunk(c), chunk_limit(c), &b);
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
      ChunkWords words, wanted{};
      read_chunk(chunk, set.chunk_limit(c), &words);
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
