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

// The distance of a chunk's members if all have the same, else 0. There are at least three.
std::size_t stride_of(const ChunkWords& words, std::size_t count) {
  std::size_t w = 0;
  while (words[w] == 0) ++w;
  const std::size_t first = w * 64 + static_cast<std::size_t>(std::countr_zero(words[w]));
  std::uint64_t rest = words[w] & (words[w] - 1);
  while (rest == 0) rest = words[++w];
  const std::size_t second = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  const std::size_t step = second - first, last = first + step * (count - 1);
  for (std::size_t position = first; position <= last; position += step)
    if (position >= kChunkFrames || (words[position / 64] >> (position % 64) & 1) == 0)
      return 0;
  return step;
}

// Some members of a chunk.
void put_ranked(const PackedChunk& chunk, std::size_t c, Block members, PackedSet* part) {
  ChunkWords words, wanted{};
  read_chunk(chunk, part->chunk_limit(c), &words);
  const auto here = std::span(words).first((part->chunk_limit(c) + 63) / 64);
  for_each_bit(here, [&, number = std::size_t{0}](std::size_t position) mutable {
    if (number >= members.begin && number < members.end)
      wanted[position / 64] |= std::uint64_t{1} << (position % 64);
    ++number;
  });
  part->put_chunk(c, wanted);
}

}  // namespace

bool bitmap_is_sound(const PackedChunk& chunk, std::size_t limit) {
  return is_of_size(chunk.payload, limit) && count_bits(chunk.payload) == chunk.count;
}

bool part_is_sound(const PackedChunk& chunk, std::size_t whole) {
  if (chunk.form == ChunkForm::kEmpty) return chunk.payload.empty();
  return chunk.form == ChunkForm::kPart && bitmap_is_sound(chunk, whole);
}

bool read_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words) {
  words->fill(0);
  return add_chunk(chunk, limit, words);
}

bool add_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words) {
  if (chunk.form == ChunkForm::kGaps) {
    std::array<std::uint16_t, kMostGaps> positions;
    if (!read_gaps(chunk.payload, chunk.count, limit, positions.data())) return false;
    for (std::size_t position : std::span(positions).first(chunk.count))
      (*words)[position / 64] |= std::uint64_t{1} << (position % 64);
    return true;
  }
  if (chunk.form == ChunkForm::kBitmap && chunk.payload.size() == sizeof(ChunkWords)) {
    return is_of_size(chunk.payload, limit) &&
           unite(chunk.payload.first<sizeof(ChunkWords)>(), words) == chunk.count;
  }
  return decode_chunk(chunk, limit, ByWords{[words](std::size_t w, std::uint64_t bits) {
                        (*words)[w] |= bits;
                      }});
}

bool read_part(const PackedChunk& chunk, std::size_t limit, const PackedChunk& whole,
               ChunkWords* words) {
  if (chunk.form != ChunkForm::kPart) return read_chunk(chunk, limit, words);
  std::vector<std::uint16_t> positions;
  if (!is_sparse(whole) || !read_positions(whole, limit, &positions) ||
      !part_is_sound(chunk, whole.count))
    return false;
  words->fill(0);
  for (std::size_t i = 0; i < positions.size(); ++i)
    if ((load_word(chunk.payload.data(), i / 64) >> (i % 64) & 1) != 0)
      (*words)[positions[i] / 64] |= std::uint64_t{1} << (positions[i] % 64);
  return true;
}

bool is_sound(const PackedChunk& chunk, std::size_t limit) {
  return decode_chunk(chunk, limit, ByWords{[](std::size_t, std::uint64_t) {}});
}

bool is_sparse(const PackedChunk& chunk) {
  return chunk.form == ChunkForm::kEmpty || chunk.form == ChunkForm::kGaps ||
         (chunk.form == ChunkForm::kRuns && chunk.count <= kMostGaps);
}

bool read_positions(const PackedChunk& chunk, std::size_t limit,
                    std::vector<std::uint16_t>* positions) {
  if (chunk.form == ChunkForm::kGaps) {
    positions->resize(chunk.payload.size());
    const bool sound = read_gaps(chunk.payload, chunk.count, limit, positions->data());
    positions->resize(sound ? chunk.count : 0);
    return sound;
  }
  struct Append {
    std::vector<std::uint16_t>& to;
    std::size_t most;
    void run(std::size_t first, std::size_t stride, std::size_t count) {
      for (std::size_t i = 0; i < count && to.size() < most; ++i)
        to.push_back(static_cast<std::uint16_t>(first + i * stride));
    }
    void words(const std::byte*, std::size_t) {}
  };
  positions->clear();
  return decode_chunk(chunk, limit, Append{*positions, chunk.count});
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
  const std::span here = std::span(words).first((chunk_limit(chunk) + 63) / 64);
  const auto [count, run_count] = extent_of(here);
  if (count == 0) return;
  begin_chunk(chunk);
  const std::size_t distance = run_count > 1 && count > 2 ? stride_of(words, count) : 0;
  const std::size_t stride = std::max<std::size_t>(distance, 1);
  const std::size_t bitmap = here.size_bytes();
  const std::size_t runs = (1 + 2 * (distance == 0 ? run_count : 1)) * kPositionBytes;
  const std::size_t gaps_below = std::min(runs, bitmap * 3 / 4);
  if (count < gaps_below && put_gaps(words, count, gaps_below - 1)) return;
  if (runs > bitmap) {
    std::memcpy(extend(ChunkForm::kBitmap, count, bitmap), words.data(), bitmap);
    return;
  }
  std::byte* out = extend(ChunkForm::kRuns, count, runs);
  store_position(out, 0, stride);
  std::size_t filled = 1, next = kChunkFrames;
  for_each_bit(here, [&](std::size_t position) {
    if (position != next) {
      store_position(out, filled, position);
      filled += 2;
    }
    store_position(out, filled - 1, position);
    next = position + stride;
  });
}

void PackedSet::put_part(std::size_t chunk, std::span<const std::uint64_t> bits,
                         std::span<const std::uint16_t> whole) {
  if (put_bits(chunk, bits)) return;
  ChunkWords words{};
  for (std::size_t i = 0; i < whole.size(); ++i)
    if ((bits[i / 64] >> (i % 64) & 1) != 0)
      words[whole[i] / 64] |= std::uint64_t{1} << (whole[i] % 64);
  put_chunk(chunk, words);
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
bool PackedSet::put_gaps(const ChunkWords& words, std::size_t count, std::size_t most) {
  std::array<std::uint16_t, kMostGaps + kListRoom> positions;
  list_members(words, count, positions.data());
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof(ChunkHead) + padded(most));
  const std::size_t size = write_gaps(std::span(positions).first(count), most,
                                      bytes_.data() + at + sizeof(ChunkHead));
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
    ChunkWords chunk{};
    const std::span<const std::uint64_t> part =
        words.subspan(c * chunk.size(), (set.chunk_limit(c) + 63) / 64);
    std::memcpy(chunk.data(), part.data(), part.size_bytes());
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
    const Block wanted{std::max(before, members.begin), std::min(after, members.end)};
    if (before >= members.begin && after <= members.end)
      part.put_chunk(c, chunk);
    else if (wanted.begin < wanted.end)
      put_ranked(chunk, c, {wanted.begin - before, wanted.end - before}, &part);
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
