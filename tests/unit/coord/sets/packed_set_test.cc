// Packed sets against plain vectors: every form, round trips, and bytes that make no sense.
#include "coord/sets/packed_set.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace zazen {
namespace {

using Indexes = std::vector<std::size_t>;

Indexes members(const PackedSet& set) {
  Indexes all;
  set.for_each([&](std::size_t i) { all.push_back(i); });
  return all;
}

Indexes members_of_runs(const PackedSet& set) {
  Indexes all;
  set.for_each_run([&](std::size_t first, std::size_t stride, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) all.push_back(first + i * stride);
  });
  return all;
}

PackedSet pack(const Indexes& frames, std::size_t domain) {
  PackedSetWriter writer(domain);
  for (std::size_t i : frames) writer.append(i);
  return writer.take();
}

Indexes random_frames(std::size_t domain, double density, unsigned seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution holds(density);
  Indexes frames;
  for (std::size_t i = 0; i < domain; ++i)
    if (holds(random)) frames.push_back(i);
  return frames;
}

struct Shape {
  const char* name;
  Indexes frames;
  ChunkForm form;
  std::size_t most_bytes;
};

TEST(PackedSet, EachKindOfContentTakesItsCheapestForm) {
  Indexes all, every_eighth, blocks;
  for (std::size_t i = 0; i < kChunkFrames; ++i) {
    all.push_back(i);
    if (i % 8 == 3) every_eighth.push_back(i);
    if (i % 1000 < 500) blocks.push_back(i);
  }
  const Shape shapes[] = {
      {"nothing", {}, ChunkForm::kEmpty, 0},
      {"one", {4711}, ChunkForm::kRuns, 16},
      {"all", all, ChunkForm::kRuns, 16},
      {"every eighth", every_eighth, ChunkForm::kRuns, 16},
      {"blocks", blocks, ChunkForm::kRuns, 8 + 8 + 66 * 4},
      {"one in 100", random_frames(kChunkFrames, 0.01, 1), ChunkForm::kGaps, 800},
      {"one in 2000", random_frames(kChunkFrames, 0.0005, 1), ChunkForm::kRuns, 160},
      {"one in 8", random_frames(kChunkFrames, 0.125, 1), ChunkForm::kBitmap, 8200},
  };
  for (const Shape& shape : shapes) {
    PackedSet set = pack(shape.frames, kChunkFrames);
    EXPECT_EQ(set.chunk(0).form, shape.form) << shape.name;
    EXPECT_LE(set.bytes().size(), shape.most_bytes) << shape.name;
    EXPECT_EQ(members(set), shape.frames) << shape.name;
    EXPECT_EQ(members_of_runs(set), shape.frames) << shape.name;
    EXPECT_EQ(set.count(), shape.frames.size()) << shape.name;
  }
}

TEST(PackedSet, RoundTripsOverSeveralChunksAndOddEnds) {
  for (std::size_t domain : {1UL, 63UL, 64UL, 65'535UL, 65'536UL, 65'537UL, 200'001UL})
    for (double density : {0.0, 0.00001, 0.001, 0.02, 0.3, 0.999, 1.0}) {
      const Indexes frames = random_frames(domain, density, 5);
      const PackedSet set = pack(frames, domain);
      ASSERT_EQ(members(set), frames) << domain << ' ' << density;
      ASSERT_EQ(members_of_runs(set), frames) << domain << ' ' << density;
      Bitmap bitmap(domain);
      for (std::size_t i : frames) bitmap.set(i);
      EXPECT_EQ(PackedSet::pack(bitmap), set);
      Result<PackedSet> decoded = PackedSet::decode(set.bytes(), domain);
      ASSERT_TRUE(decoded.ok());
      EXPECT_EQ(*decoded, set);
      EXPECT_EQ(decoded->count(), frames.size());
    }
}

TEST(PackedSet, SparseChunksAreReadAsPositions) {
  for (std::size_t domain : {1UL, 5UL, 64UL, 300UL, 65'535UL, 65'536UL})
    for (double density : {0.00001, 0.0005, 0.01, 0.08, 0.3, 1.0})
      for (std::size_t stride : {0UL, 1UL, 9UL}) {
        Indexes frames = random_frames(domain, density, 6);
        if (stride != 0)
          for (std::size_t i = 0; i < frames.size(); ++i)
            frames[i] = domain / 3 + i * stride < domain ? domain / 3 + i * stride : domain - 1;
        frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
        const PackedSet set = pack(frames, domain);
        const PackedChunk chunk = set.chunk(0);
        EXPECT_TRUE(is_sparse(chunk) || frames.size() > domain / 12) << domain << density;
        if (!is_sparse(chunk)) continue;
        std::vector<std::uint16_t> positions;
        ASSERT_TRUE(read_positions(chunk, domain, &positions));
        EXPECT_TRUE(std::ranges::equal(positions, frames));
      }
}

TEST(PackedSet, APartIsReadByTheMembersOfTheOtherSet) {
  for (double density : {0.0005, 0.0125, 0.03, 0.05}) {
    const PackedSet whole = pack(random_frames(kChunkFrames, density, 3), kChunkFrames);
    std::vector<std::uint16_t> positions;
    ASSERT_TRUE(read_positions(whole.chunk(0), kChunkFrames, &positions));
    for (unsigned one_in : {1U, 2U, 50U}) {
      std::mt19937 random(4);
      std::vector<std::uint64_t> bits((positions.size() + 63) / 64);
      ChunkWords expected{}, words;
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < positions.size(); ++i) {
        if (random() % one_in != 0) continue;
        bits[i / 64] |= std::uint64_t{1} << (i % 64);
        expected[positions[i] / 64] |= std::uint64_t{1} << (positions[i] % 64);
        ++count;
      }
      PackedSet part(kChunkFrames);
      part.put_part(0, bits, positions);
      EXPECT_EQ(part.count(), count);
      EXPECT_EQ(part.chunk(0).form == ChunkForm::kPart, 8 * bits.size() < count) << one_in;
      ASSERT_TRUE(read_part(part.chunk(0), kChunkFrames, whole.chunk(0), &words));
      EXPECT_EQ(words, expected) << density << ' ' << one_in;

      auto reads = [&](std::span<const std::byte> bytes, std::uint32_t members) {
        const PackedChunk chunk{ChunkForm::kPart, members, bytes};
        EXPECT_EQ(part_is_sound(chunk, positions.size()),
                  read_part(chunk, kChunkFrames, whole.chunk(0), &words));
        return part_is_sound(chunk, positions.size());
      };
      const auto bytes = std::as_bytes(std::span(bits));
      EXPECT_TRUE(reads(bytes, count));
      EXPECT_FALSE(reads(bytes, count + 1));
      EXPECT_FALSE(reads(bytes.first(bytes.size() - 8), count));
      EXPECT_FALSE(reads(bytes.first(bytes.size() - 1), count));
      std::vector<std::byte> longer(bytes.begin(), bytes.end());
      longer.resize(longer.size() + 8);
      EXPECT_FALSE(reads(longer, count));
      if (positions.size() % 64 == 0) continue;
      bits.back() |= std::uint64_t{1} << 63;
      EXPECT_FALSE(reads(bytes, count + 1)) << "a bit beyond the members";
    }
  }
}

TEST(PackedSet, RunsAreAppendedWithTheirStride) {
  PackedSetWriter writer(200'000);
  writer.append_run(5, 1, 70'000);
  writer.append_run(80'000, 100, 1000);
  const PackedSet set = writer.take();
  EXPECT_EQ(set.count(), 71'000U);
  const Indexes all = members(set);
  EXPECT_EQ(all[69'999], 70'004U);
  EXPECT_EQ(all[70'001], 80'100U);
  EXPECT_EQ(all.back(), 179'900U);
}

TEST(PackedSet, TheBytesOfChunksAreAPartOfTheWhole) {
  const PackedSet set = pack({1, 70'000, 300'000}, 400'000);
  EXPECT_EQ(members(*PackedSet::decode(set.bytes({1, 2}), kChunkFrames)),
            Indexes{70'000 - kChunkFrames});
  EXPECT_TRUE(set.bytes({5, 7}).empty());
  EXPECT_EQ(set.bytes({0, 7}).size(), set.bytes().size());
}

TEST(PackedSet, EqualSetsInDifferentFormsAreEqual) {
  PackedSet run = pack({7}, 100);
  const std::byte seven[] = {std::byte{7}};
  PackedSet gap(100);
  gap.put_chunk(0, PackedChunk{ChunkForm::kGaps, 1, seven});
  EXPECT_EQ(run, gap);
  EXPECT_FALSE(run == pack({8}, 100));
}

TEST(PackedSet, PartsByRankCoverTheSet) {
  constexpr std::size_t kDomain = 300'000;
  Indexes every_seventh, all_frames(kDomain);
  std::iota(all_frames.begin(), all_frames.end(), 0);
  for (std::size_t i = 5; i < kDomain; i += 7) every_seventh.push_back(i);
  for (const Indexes& frames : {random_frames(kDomain, 0.1, 3), random_frames(kDomain, 0.01, 3),
                                every_seventh, all_frames}) {
    const PackedSet set = pack(frames, kDomain);
    Indexes all;
    for (std::size_t part = 0; part < 7; ++part) {
      const Block block = block_of(frames.size(), part, 7);
      const PackedSet piece = ranked_part(set, block);
      EXPECT_EQ(piece.count(), block.end - block.begin);
      EXPECT_TRUE(PackedSet::decode(piece.bytes(), kDomain).ok());
      for (std::size_t i : members(piece)) all.push_back(i);
    }
    EXPECT_EQ(all, frames);
  }
}

// A chunk with this head and payload, padded.
std::vector<std::byte> chunk_bytes(std::uint32_t count, ChunkForm form,
                                   std::vector<unsigned> payload) {
  const std::size_t size = payload.size();
  payload.resize((size + 7) / 8 * 8);
  std::vector<std::byte> bytes(8);
  std::memcpy(bytes.data(), &count, sizeof count);
  bytes[4] = static_cast<std::byte>(size);
  bytes[5] = static_cast<std::byte>(size >> 8);
  bytes[6] = static_cast<std::byte>(form);
  for (unsigned value : payload) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(PackedSet, BytesThatMakeNoSenseAreRefused) {
  constexpr std::size_t domain = 70;
  auto decodes = [&](const std::vector<std::byte>& bytes) {
    const bool sound = PackedSet::decode(bytes, domain).ok();
    PackedReader reader(bytes);
    PackedChunk chunk;
    std::vector<std::uint16_t> positions;
    if (reader.next(domain, &chunk) && reader.done() && is_sparse(chunk)) {
      EXPECT_EQ(read_positions(chunk, domain, &positions), sound);
    }
    return sound;
  };
  const std::vector<unsigned> words = {255, 0, 0, 0, 0, 0, 0, 0, 63, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_TRUE(decodes(chunk_bytes(14, ChunkForm::kBitmap, words)));
  ASSERT_TRUE(decodes(chunk_bytes(3, ChunkForm::kRuns, {1, 0, 3, 0, 4, 0, 6, 0, 6, 0})));
  ASSERT_TRUE(decodes(chunk_bytes(3, ChunkForm::kRuns, {34, 0, 1, 0, 69, 0})));
  ASSERT_TRUE(decodes(chunk_bytes(2, ChunkForm::kGaps, {3, 65})));

  EXPECT_FALSE(decodes(chunk_bytes(13, ChunkForm::kBitmap, words))) << "a wrong count";
  std::vector<unsigned> past = words;
  past[8] = 64;
  EXPECT_FALSE(decodes(chunk_bytes(9, ChunkForm::kBitmap, past))) << "past the domain";
  EXPECT_FALSE(decodes(chunk_bytes(8, ChunkForm::kBitmap, {255, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(3, ChunkForm::kRuns, {1, 0, 3, 0, 4, 0, 5, 0, 5, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kRuns, {1, 0, 69, 0, 70, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kRuns, {1, 0, 6, 0, 6, 0, 3, 0, 3, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kRuns, {1, 0, 4, 0, 3, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kRuns, {1, 0, 3, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(1, ChunkForm::kRuns, {3, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(4, ChunkForm::kRuns, {1, 0, 3, 0, 4, 0, 6, 0, 6, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(3, ChunkForm::kRuns, {34, 0, 2, 0, 70, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(3, ChunkForm::kRuns, {34, 0, 2, 0, 69, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kRuns, {34, 0, 2, 0, 69, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(3, ChunkForm::kRuns, {0, 0, 2, 0, 34, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(2, ChunkForm::kGaps, {3, 66})));
  EXPECT_FALSE(decodes(chunk_bytes(1, ChunkForm::kGaps, {3, 255})));
  EXPECT_FALSE(decodes(chunk_bytes(1, ChunkForm::kGaps, {3, 3})));
  EXPECT_FALSE(decodes(chunk_bytes(1, static_cast<ChunkForm>(5), {3, 0})));
  EXPECT_FALSE(decodes(chunk_bytes(0, ChunkForm::kRuns, {})));
  EXPECT_FALSE(decodes(chunk_bytes(1, ChunkForm::kEmpty, {})));
  const std::vector<std::byte> filled =
      chunk_bytes(0, ChunkForm::kEmpty, {255, 0, 0, 0, 0, 0, 0, 0});
  PackedChunk empty;
  EXPECT_FALSE(PackedReader(filled).next(domain, &empty)) << "it would be taken for a part";

  std::vector<std::byte> list = chunk_bytes(1, ChunkForm::kGaps, {3});
  std::vector<std::byte> longer = list;
  longer.resize(longer.size() + 8);
  EXPECT_FALSE(decodes(longer)) << "more chunks than the domain has";
  list.back() = std::byte{1};
  EXPECT_FALSE(decodes(list)) << "padding";
  list.pop_back();
  EXPECT_FALSE(decodes(list)) << "cut off";
}

}  // namespace
}  // namespace zazen
