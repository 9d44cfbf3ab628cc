// PackedSet: a set of frame indexes [0, domain) in a compact form that is sent as it is in
// memory.
//
// The domain is cut into chunks of 65,536 frames, and each chunk takes the cheapest form: runs,
// gaps of one byte, or a bitmap of 8 KB. One buffer has all chunks in
// sequence in the form of a message. So the part of a slice (whole chunks) is sent without
// encoding. A node that holds 1 of p frames at random needs a byte for each of its frames if p
// is above 10. Otherwise it needs a bit for each frame of the domain.
//
// A chunk is a head of 8 bytes and a payload, padded to 8. Chunks past the end of the bytes are
// empty. PackedReader and decode_chunk() read bytes from another rank and check everything.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bodhi/common/result.h"
#include "coord/sets/bitmap.h"
#include "coord/sets/bulk_bytes.h"
#include "coord/sets/chunk_bits.h"
#include "coord/sets/gaps.h"
#include "coord/sets/rules.h"

namespace zazen {

inline std::size_t chunk_count(std::size_t domain) {
  return (domain + kChunkFrames - 1) / kChunkFrames;
}

enum class ChunkForm : std::uint8_t {
  kEmpty,
  kRuns,    // the stride of all runs, and the first and last position of each; never touching
  kGaps,    // of one byte (gaps.h)
  kBitmap,  // 64-bit words
  kPart,    // bits, one for each member of another set, which the reader has; not decodable
};

struct PackedChunk {
  ChunkForm form = ChunkForm::kEmpty;
  std::uint32_t count = 0;
  std::span<const std::byte> payload;  // without padding
};

class PackedSet {
 public:
  PackedSet() = default;
  explicit PackedSet(std::size_t domain) : domain_(domain) {}
  static PackedSet pack(const Bitmap& frames);
  static Result<PackedSet> decode(std::span<const std::byte> bytes, std::size_t domain);

  std::size_t domain() const { return domain_; }
  std::size_t chunks() const { return chunk_count(domain_); }
  std::size_t count() const { return count_; }
  // The number of frames in the chunk: less than 65,536 only for the last one.
  std::size_t chunk_limit(std::size_t chunk) const {
    return std::min(kChunkFrames, domain_ - chunk * kChunkFrames);
  }

  // Chunks are put in ascending order; omitted ones are empty. Words past the domain are zero.
  void put_chunk(std::size_t chunk, const ChunkWords& words);
  void put_chunk(std::size_t chunk, const PackedChunk& packed);
  // Puts a part of another set: those of its members in the chunk, `whole`, whose bit is set.
  // It takes another form if that is shorter than a bit for each of `whole`.
  void put_part(std::size_t chunk, std::span<const std::uint64_t> bits,
                std::span<const std::uint16_t> whole);
  // The words of a chunk that is the bitmap of a whole chunk, to be changed in place; empty for
  // other chunks. The caller then calls recount(); the number is never 0.
  std::span<std::byte> bitmap(std::size_t chunk);
  void recount(std::size_t chunk, std::size_t count);
  // Removes the chunks from this one on.
  void truncate(std::size_t chunk);
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

  PackedChunk chunk(std::size_t chunk) const;
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::byte> bytes(Block chunks) const;

  template <class Visit>
  void for_each(Visit&& visit) const;
  // Calls visit(first, stride, count), ascending: for whole runs and strides of a chunk, else
  // for single frames.
  template <class Visit>
  void for_each_run(Visit&& visit) const;
  bool operator==(const PackedSet& other) const;

 private:
  void begin_chunk(std::size_t chunk);
  std::byte* extend(ChunkForm form, std::size_t count, std::size_t payload);
  bool put_gaps(const ChunkWords& words, std::size_t count, std::size_t most);
  bool put_bits(std::size_t chunk, std::span<const std::uint64_t> bits);

  std::size_t domain_ = 0;
  std::size_t count_ = 0;
  std::vector<std::size_t> offsets_;  // of the chunks that were put
  BulkBytes bytes_;
};

// Sets the bits of the members; the bitmap has the set's domain.
void unpack(const PackedSet& set, Bitmap* out);

// The members with the numbers from begin to end (exclusive), in ascending order.
PackedSet ranked_part(const PackedSet& set, Block members);

// Builds a set from ascending frames.
class PackedSetWriter {
 public:
  explicit PackedSetWriter(std::size_t domain) : set_(domain), words_{} {}

  void append(std::size_t frame) {
    if (frame / kChunkFrames != chunk_) flush(frame / kChunkFrames);
    words_[frame % kChunkFrames / 64] |= std::uint64_t{1} << (frame % 64);
    dirty_ = true;
  }
  // first, first + stride, ..., count of them.
  void append_run(std::size_t first, std::size_t stride, std::size_t count);
  PackedSet take();

 private:
  void flush(std::size_t next_chunk);

  PackedSet set_;
  ChunkWords words_;
  std::size_t chunk_ = 0;
  bool dirty_ = false;
};

// Reads the chunks of a set from bytes. next() is false if a head is malformed; decode_chunk()
// checks payloads.
class PackedReader {
 public:
  PackedReader() = default;
  explicit PackedReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool next(std::size_t limit, PackedChunk* chunk);
  bool done() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

inline std::uint64_t load_word(const std::byte* bytes, std::size_t word) {
  std::uint64_t value;
  std::memcpy(&value, bytes + word * sizeof value, sizeof value);
  return value;
}
inline std::size_t load_position(const std::byte* bytes, std::size_t index) {
  std::uint16_t value;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

// words = chunk. False, with undefined `words`, if the chunk is malformed.
bool read_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words);
// words |= chunk.
bool add_chunk(const PackedChunk& chunk, std::size_t limit, ChunkWords* words);
// As read_chunk() for a chunk that may be a part of the other set's chunk `whole`.
bool read_part(const PackedChunk& chunk, std::size_t limit, const PackedChunk& whole,
               ChunkWords* words);
bool is_sound(const PackedChunk& chunk, std::size_t limit);

// It can be read as positions: it has few members, and is not a bitmap.
bool is_sparse(const PackedChunk& chunk);
// False, with undefined positions, if the sparse chunk is malformed.
bool read_positions(const PackedChunk& chunk, std::size_t limit,
                    std::vector<std::uint16_t>* positions);

bool bitmap_is_sound(const PackedChunk& chunk, std::size_t limit);
// The chunk is a part of a set with this number of members in the chunk, or empty.
bool part_is_sound(const PackedChunk& chunk, std::size_t whole);

// Calls visitor.run(first, stride, count) or .words(bytes, count), ascending, with positions
// below `limit`. False, perhaps after some calls, if the payload is malformed.
template <class Visitor>
bool decode_chunk(const PackedChunk& chunk, std::size_t limit, Visitor&& visitor) {
  const std::byte* payload = chunk.payload.data();
  const std::size_t size = chunk.payload.size(), count = chunk.count;
  switch (chunk.form) {
    case ChunkForm::kEmpty:
      return count == 0 && size == 0;
    case ChunkForm::kRuns: {
      if (size % 4 != 2) return false;
      const std::size_t stride = load_position(payload, 0);
      std::size_t found = 0, least = 0;
      for (std::size_t i = 0; i < size / 4; ++i) {
        const std::size_t first = load_position(payload, 2 * i + 1);
        const std::size_t last = load_position(payload, 2 * i + 2);
        if (stride == 0 || first < least || last < first || last >= limit ||
            (last - first) % stride != 0)
          return false;
        visitor.run(first, stride, (last - first) / stride + 1);
        found += (last - first) / stride + 1;
        least = last + 2;
      }
      return found == count;
    }
    case ChunkForm::kGaps: {
      ChunkWords words{};
      if (!add_chunk(chunk, limit, &words)) return false;
      visitor.words(std::as_bytes(std::span(words)).data(), (limit + 63) / 64);
      return true;
    }
    case ChunkForm::kBitmap:
      if (!bitmap_is_sound(chunk, limit)) return false;
      visitor.words(payload, size / 8);
      return true;
    case ChunkForm::kPart:
      return false;
  }
  return false;
}

// Applies an operation to the frames of a chunk, word by word where the form allows it:
// op(word, bits) for one word of the chunk's bits.
template <class Op>
struct ByWords {
  Op op;
  void run(std::size_t first, std::size_t stride, std::size_t count) {
    if (stride == 1) return range(first, first + count - 1);
    for (std::size_t i = 0, at = first; i < count; ++i, at += stride)
      op(at / 64, std::uint64_t{1} << (at % 64));
  }
  void range(std::size_t first, std::size_t last) {
    const std::uint64_t all = ~std::uint64_t{0};
    const std::uint64_t head = all << (first % 64), tail = all >> (63 - last % 64);
    if (first / 64 == last / 64) return op(first / 64, head & tail);
    op(first / 64, head);
    for (std::size_t w = first / 64 + 1; w < last / 64; ++w) op(w, all);
    op(last / 64, tail);
  }
  void words(const std::byte* bytes, std::size_t count) {
    for (std::size_t w = 0; w < count; ++w) op(w, load_word(bytes, w));
  }
};
template <class Op>
ByWords(Op) -> ByWords<Op>;

template <class Visit>
void PackedSet::for_each(Visit&& visit) const {
  for (std::size_t c = 0; c < offsets_.size(); ++c) {
    auto each = [&](std::size_t word, std::uint64_t bits) {
      for (; bits != 0; bits &= bits - 1)
        visit(c * kChunkFrames + word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    };
    decode_chunk(chunk(c), chunk_limit(c), ByWords{each});
  }
}

template <class Visit>
void PackedSet::for_each_run(Visit&& visit) const {
  struct ByRuns {
    std::size_t begin;  // of the chunk
    Visit& visit;
    void run(std::size_t first, std::size_t stride, std::size_t count) {
      visit(begin + first, stride, count);
    }
    void words(const std::byte* bytes, std::size_t count) {
      for (std::size_t w = 0; w < count; ++w)
        for (std::uint64_t bits = load_word(bytes, w); bits != 0; bits &= bits - 1)
          run(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)), 1, 1);
    }
  };
  for (std::size_t c = 0; c < offsets_.size(); ++c)
    decode_chunk(chunk(c), chunk_limit(c), ByRuns{c * kChunkFrames, visit});
}

}  // namespace zazen
