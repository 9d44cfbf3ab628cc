// Revisions of sets in all forms, in place and put anew, against plain vectors.
#include "coord/sets/packed_set_update.h"

#include <gtest/gtest.h>

#include <random>

namespace zazen {
namespace {

constexpr std::size_t kDomain = 5 * kChunkFrames + 1000;

// A chunk is empty, sparse, full, or a bitmap.
Bitmap random_frames(std::mt19937& random, const char* chunks) {
  Bitmap frames(kDomain);
  for (std::size_t i = 0; i < kDomain; ++i) {
    const char kind = chunks[i / kChunkFrames];
    const unsigned percent = kind == 's' ? 1 : kind == 'f' ? 100 : kind == 'b' ? 30 : 0;
    if (random() % 100 < percent) frames.set(i);
  }
  return frames;
}

ChunkWords words_of(const Bitmap& frames, std::size_t chunk) {
  ChunkWords words{};
  for (std::size_t w = 0; w < words.size(); ++w)
    if (chunk * words.size() + w < frames.words().size())
      words[w] = frames.words()[chunk * words.size() + w];
  return words;
}

std::vector<std::uint16_t> positions_of(const ChunkWords& words) {
  std::vector<std::uint16_t> positions;
  for_each_bit(words,
               [&](std::size_t i) { positions.push_back(static_cast<std::uint16_t>(i)); });
  return positions;
}

// `few`: changes as positions where they can be.
bool change(PackedSetUpdate& revision, const ChunkWords& more, const ChunkWords& lost,
            const ChunkWords& adopted, bool few) {
  ChunkWords both;
  if (!few || intersect(more, lost, &both) != count_members(lost))
    return revision.change(more, lost, adopted);
  const std::vector<std::uint16_t> positions = positions_of(more);
  std::vector<std::uint64_t> bits((positions.size() + 63) / 64);
  for (std::size_t i = 0; i < positions.size(); ++i)
    if ((lost[positions[i] / 64] >> (positions[i] % 64) & 1) != 0)
      bits[i / 64] |= std::uint64_t{1} << (i % 64);
  const auto bytes = std::as_bytes(std::span(bits)).first(any_bit(lost) ? 8 * bits.size() : 0);
  return revision.change(positions, bytes, positions_of(adopted));
}

TEST(PackedSetUpdate, WhateverTheFormTheMembersAreThoseOfPlainSets) {
  std::mt19937 random(1);
  for (const char* forms : {"bbbbbb", "bbsbbb", "ssssss", "fbebsf", "eeeeee", "bbbbbs"}) {
    const Bitmap had = random_frames(random, forms);
    for (const char* changes : {"ssssss", "esesee", "eeeees", "bbbbbb"}) {
      const Bitmap more = random_frames(random, changes);
      Bitmap lost(kDomain), adopted(kDomain), expected(kDomain);
      for (std::size_t i = 0; i < kDomain; ++i) {
        const bool has = had.test(i) || more.test(i);
        if (has && (more.test(i) || i / kChunkFrames == 3) && random() % 2 == 0) lost.set(i);
        if (has && i / kChunkFrames == 1) lost.set(i);  // all of this chunk goes
        if (!has && changes[i / kChunkFrames] != 'e' && random() % 20 == 0) adopted.set(i);
        if (has ? !lost.test(i) : adopted.test(i)) expected.set(i);
      }
      for (bool few : {false, true}) {
        PackedSetUpdate revision(PackedSet::pack(had));
        for (std::size_t c = 0; c * kChunkFrames < kDomain; ++c) {
          const PackedChunk old = revision.next();
          const ChunkWords m = words_of(more, c), l = words_of(lost, c),
                           a = words_of(adopted, c);
          EXPECT_EQ(old.count, count_members(words_of(had, c)));
          if (!any_bit(m) && !any_bit(l) && !any_bit(a)) {
            revision.keep();
            continue;
          }
          ASSERT_TRUE(change(revision, m, l, a, few));
        }
        const PackedSet set = revision.take();
        EXPECT_EQ(set, PackedSet::pack(expected)) << forms << ' ' << changes;
        EXPECT_EQ(set.count(), expected.count());
        EXPECT_TRUE(PackedSet::decode(set.bytes(), kDomain).ok()) << forms << ' ' << changes;
      }
    }
  }
}

TEST(PackedSetUpdate, FewChangesMustMakeSense) {
  ChunkWords words{};
  for (std::uint64_t& word : words) word = 0x0123'4567'89ab'cdefULL;
  PackedSet set(kChunkFrames);
  set.put_chunk(0, words);
  auto accepts = [&](std::vector<std::uint16_t> more, std::uint64_t lost,
                     std::vector<std::uint16_t> adopted, std::size_t count) {
    PackedSetUpdate revision(set);
    revision.next();
    const bool sensible = revision.change(more, std::as_bytes(std::span(&lost, 1)), adopted);
    if (sensible) {
      EXPECT_EQ(revision.take().count(), count);
    }
    return sensible;
  };
  const std::size_t had = set.count();
  EXPECT_TRUE(accepts({4, 12}, 1, {20}, had + 2));
  EXPECT_TRUE(accepts({0, 12}, 0, {20}, had + 2)) << "it had 0";
  EXPECT_TRUE(accepts({0, 12}, 1, {20}, had + 1)) << "it had 0, and loses it";
  EXPECT_FALSE(accepts({4, 12}, 1, {0}, 0)) << "it adopts what it had";
  EXPECT_FALSE(accepts({4, 12}, 1, {12}, 0)) << "it adopts what it has";
  EXPECT_FALSE(accepts({4, 12}, 1, {4}, 0)) << "it adopts what it loses";
}

TEST(PackedSetUpdate, BitmapsAreChangedWhereTheyLie) {
  std::mt19937 random(2);
  PackedSet set = PackedSet::pack(random_frames(random, "bbbbbb"));
  const std::byte* bytes = set.bytes().data();
  PackedSetUpdate revision(std::move(set));
  const ChunkWords none{};
  for (int c = 0; c < 5; ++c) {
    const PackedChunk old = revision.next();
    ChunkWords all, rest;
    ASSERT_TRUE(read_chunk(old, kChunkFrames, &all));
    for (std::size_t w = 0; w < all.size(); ++w) rest[w] = ~all[w];
    ASSERT_TRUE(revision.change(rest, none, none));
  }
  revision.next();
  revision.keep();
  const PackedSet full = revision.take();
  EXPECT_EQ(full.bytes().data(), bytes);
  EXPECT_EQ(full.chunk(4).count, kChunkFrames);
}

}  // namespace
}  // namespace zazen
