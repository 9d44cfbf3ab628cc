#include "daemon/capacity/frame_table.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

TEST(FrameTableOwnersTest, BytesOfOwnersFollowTheFrames) {
  FrameTable table;
  for (FrameSeq seq = 0; seq < 1000; ++seq) table.set(seq, 10, owner_key(seq % 2 == 0 ? 7 : 8));
  EXPECT_EQ(table.bytes_of(owner_key(7)), 5'000u);
  EXPECT_EQ(table.owner_of(1), owner_key(8));
  table.set(1, 30, owner_key(7));
  table.set(3, FrameTable::kUnknown, owner_key(8));
  table.erase(0);
  EXPECT_EQ(table.bytes_of(owner_key(7)), 5'020u);
  EXPECT_EQ(table.bytes_of(owner_key(8)), 4'980u);
  EXPECT_EQ(table.bytes(), 10'000u);
  EXPECT_EQ(table.find(3), FrameTable::kUnknown);
  EXPECT_EQ(owner_key(kNoUser), kUnknownOwner);
  EXPECT_NE(owner_key(0), kUnknownOwner);
}

using Content = std::map<FrameSeq, std::uint64_t>;

Content content_of(const FrameTable& table) {
  Content content;
  table.for_each([&](FrameSeq seq, std::uint64_t bytes) { content[seq] = bytes; });
  return content;
}

class FrameTableTest : public Scratch {
 protected:
  static constexpr std::uint64_t kStamp = 77;

  FrameTableTest() : directory_(::open(cache().c_str(), O_RDONLY | O_DIRECTORY)) {}
  std::string file() const { return cache() + "/table"; }
  std::optional<FrameTable::Seal> keep(FrameTable& table, std::uint64_t stamp) {
    return table.keep_in(directory_.get(), "table", stamp);
  }
  void leave_sealed() {
    FrameTable table;
    keep(table, 0);
    for (FrameSeq seq = 0; seq < 1000; ++seq) table.set(seq * 7, seq);
    ASSERT_EQ(table.seal({kStamp, 160, 21}), 0);
  }

  UniqueFd directory_;
};

// A mutex that counts, and may do something at a certain lock.
struct CountingMutex {
  void lock() {
    if (++locks == act_at) act();
  }
  void unlock() {}
  int locks = 0, act_at = 0;
  std::function<void()> act;
};

TEST_F(FrameTableTest, ExtentFollowsARandomHistory) {
  FrameTable table;
  CountingMutex mutex;
  Content expected;
  EXPECT_FALSE(table.extent(mutex));
  std::mt19937_64 random(11);
  int looks = 0;
  for (int i = 0; i < 20'000; ++i) {
    const FrameSeq seq = random() % 200;
    if (random() % 2 == 0) {
      table.set(seq, i);
      expected[seq] = i;
    } else {
      ASSERT_EQ(table.erase(seq), expected.erase(seq) == 1);
    }
    mutex.locks = 0;
    const auto extent = table.extent(mutex);
    looks += mutex.locks > 1 ? 1 : 0;
    ASSERT_EQ(extent.has_value(), !expected.empty());
    if (expected.empty()) continue;
    ASSERT_EQ(extent->first, expected.begin()->first);
    ASSERT_EQ(extent->last, expected.rbegin()->first);
  }
  EXPECT_GT(looks, 0);
  EXPECT_LT(looks, 1000);  // only after the first or the last was removed
}

TEST_F(FrameTableTest, WhatComesDuringTheLookForTheExtentIsNotForgotten) {
  leave_sealed();
  FrameTable table;
  ASSERT_TRUE(keep(table, kStamp));  // the extent is not known
  CountingMutex mutex;
  mutex.act_at = 3;  // the look is over
  mutex.act = [&] { table.set(100'000, 1); };
  ASSERT_TRUE(table.extent(mutex));
  EXPECT_EQ(table.extent(mutex)->last, 100'000u);
  EXPECT_EQ(table.extent(mutex)->first, 0u);
}

TEST_F(FrameTableTest, RandomHistoryAgreesWithAMap) {
  FrameTable table;
  keep(table, 0);
  Content expected;
  std::mt19937_64 random(3);
  // Grows, shrinks, and has numbers that meet at one slot.
  for (int i = 0; i < 60'000; ++i) {
    FrameSeq seq = random() % 4 == 0 ? random() : random() % 3000;
    bool shrinks = i / 10'000 % 2 == 1;
    if (random() % 8 < (shrinks ? 2 : 6)) {
      std::uint64_t bytes = random() % 10 == 0 ? FrameTable::kUnknown : random() % 1000;
      table.set(seq, bytes);
      expected[seq] = bytes;
    } else {
      if (shrinks && !expected.empty()) seq = expected.lower_bound(seq / 2)->first;
      ASSERT_EQ(table.erase(seq), expected.erase(seq) == 1);
    }
    auto at = expected.find(seq);
    ASSERT_EQ(table.find(seq), at == expected.end() ? std::nullopt : std::optional(at->second));
  }
  EXPECT_EQ(content_of(table), expected);
  std::uint64_t bytes = 0, unknown = 0;
  for (auto [seq, size] : expected)
    (size == FrameTable::kUnknown ? unknown : bytes) += size == FrameTable::kUnknown ? 1 : size;
  EXPECT_EQ(table.size(), expected.size());
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(table.unknown(), unknown);
}

TEST_F(FrameTableTest, LookInPartsShowsAll) {
  FrameTable table;
  Content expected, seen;
  for (FrameSeq seq = 0; seq < 5000; ++seq) table.set(seq * seq, expected[seq * seq] = seq);
  std::uint64_t position = 0;
  do {
    position = table.look(position, 100,
                          [&](FrameSeq seq, std::uint64_t bytes) { seen[seq] = bytes; });
  } while (position != 0);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(table.look(1 << 30, 1, [](FrameSeq, std::uint64_t) { FAIL(); }), 0u);
}

// A mutex: each time it is released another thread changes the table.
struct BusyMutex {
  void lock() {
    if (++locked > 1 && change) change(locked);
  }
  void unlock() {}
  std::function<void(int)> change;
  int locked = 0;
};

// Nearly as many as two parts of a look have room for.
constexpr FrameSeq kMany = 98'000, kRounds = 6;

struct Looked {
  FrameTable table;
  FrameSeq first = 0;
  std::vector<FrameSeq> shown;  // in this order

  explicit Looked(FrameSeq round) : first(round * 10'000'000) {
    for (FrameSeq i = 0; i < kMany; ++i) table.set(first + i, 1);
  }
  void look(std::function<void(int)> change) {
    BusyMutex mutex{std::move(change)};
    table.look_at_all(
        mutex, [this] { shown.clear(); },
        [this](FrameSeq seq, std::uint64_t) { shown.push_back(seq); });
  }
  // Those that stayed in the table and were not shown.
  std::vector<FrameSeq> missed() {
    std::vector<bool> seen(2 * kMany);
    for (FrameSeq seq : shown) seen[seq - first] = true;
    std::vector<FrameSeq> missed;
    for (FrameSeq seq = first; seq < first + kMany; ++seq) {
      if (table.find(seq) && !seen[seq - first]) missed.push_back(seq);
    }
    return missed;
  }
};

TEST_F(FrameTableTest, LookAtAllMissesNothingWhileTheTableGrows) {
  for (FrameSeq round = 0; round < kRounds; ++round) {
    Looked looked(round);
    looked.look([&](int locked) {
      for (FrameSeq i = 0; locked == 2 && i < kMany; ++i) {
        looked.table.set(looked.first + kMany + i, 1);
      }
    });
    EXPECT_EQ(looked.missed(), std::vector<FrameSeq>{}) << "in round " << round;
  }
}

TEST_F(FrameTableTest, LookAtAllMissesNothingWhileTheTableShrinks) {
  Looked looked(0);
  looked.look([&](int locked) {
    for (FrameSeq i = kMany / 8; locked == 2 && i < kMany; ++i) looked.table.erase(i);
  });
  EXPECT_EQ(looked.missed(), std::vector<FrameSeq>{});
}

TEST_F(FrameTableTest, LookAtAllMissesNothingThatMovesUp) {
  for (FrameSeq round = 0; round < kRounds; ++round) {
    Looked looked(round);
    looked.look([&](int locked) {
      // The frame that was shown last goes; the next one may take its place.
      for (std::size_t i = 1; locked == 2 && i <= 200; ++i) {
        looked.table.erase(looked.shown[looked.shown.size() - i]);
      }
    });
    EXPECT_EQ(looked.missed(), std::vector<FrameSeq>{}) << "in round " << round;
  }
}

TEST_F(FrameTableTest, LookAtAllEndsThoughTheTableIsRearrangedWithoutEnd) {
  Looked looked(0);
  int times = 0;
  looked.look([&](int) {
    ASSERT_LT(++times, 100);
    for (FrameSeq seq = kMany; seq < 2 * kMany; ++seq) {
      times % 2 == 1 ? looked.table.set(seq, 1) : static_cast<void>(looked.table.erase(seq));
    }
  });
  EXPECT_EQ(looked.missed(), std::vector<FrameSeq>{});
}

TEST_F(FrameTableTest, TurnsMeetEveryFrameInEachRoundAndAreBounded) {
  FrameTable natives, aliens;
  for (FrameSeq seq = 0; seq < 20'000; ++seq) (seq % 3 == 0 ? natives : aliens).set(seq, 1);
  FrameCursor turn;
  for (int round = 0; round < 2; ++round) {
    std::set<FrameSeq> met;
    int slices = 0;
    for (; met.size() < 20'000 && slices < 100; ++slices) {
      std::vector<FrameSeq> slice = turn.next({&natives, &aliens});
      EXPECT_LT(slice.size(), FrameCursor::kFrames + FrameCursor::kSlots);
      met.insert(slice.begin(), slice.end());
    }
    EXPECT_EQ(met.size(), 20'000u) << "in round " << round;
  }
}

TEST_F(FrameTableTest, FewFramesAreMetInEachTurn) {
  FrameTable natives, aliens;
  for (FrameSeq seq = 0; seq < 300; ++seq) (seq < 10 ? natives : aliens).set(seq, 1);
  FrameCursor turn;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(turn.next({&natives, &aliens}).size(), 300u);
}

TEST_F(FrameTableTest, RandomFrameIsEachAboutAsOften) {
  FrameTable table;
  std::mt19937_64 random(1);
  EXPECT_FALSE(table.random(random));
  for (FrameSeq seq = 0; seq < 1000; ++seq) table.set(seq, 1);
  std::map<FrameSeq, int> chosen;
  for (int i = 0; i < 100'000; ++i) ++chosen[*table.random(random)];
  EXPECT_EQ(chosen.size(), 1000u);
  for (auto [seq, times] : chosen) EXPECT_LT(times, 200) << seq;
}

TEST_F(FrameTableTest, ShrunkTableStillFindsARandomFrame) {
  FrameTable table;
  std::mt19937_64 random(1);
  for (FrameSeq seq = 0; seq < 100'000; ++seq) table.set(seq, 1);
  for (FrameSeq seq = 1; seq < 100'000; ++seq) table.erase(seq);
  EXPECT_EQ(table.random(random), 0u);
  EXPECT_EQ(table.look(0, 1000, [](FrameSeq, std::uint64_t) {}), 0u) << "it has shrunk";
}

TEST_F(FrameTableTest, SealedTableIsResumed) {
  leave_sealed();
  FrameTable table;
  std::optional<FrameTable::Seal> seal = keep(table, kStamp);
  ASSERT_TRUE(seal);
  EXPECT_EQ(seal->log_bytes, 160u);
  EXPECT_EQ(seal->newest, 21u);
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_EQ(table.find(70), 10u);
  table.set(1, 1);
  // It is open again: a reader that finds it must not trust it.
  FrameTable other;
  EXPECT_FALSE(keep(other, kStamp));
}

TEST_F(FrameTableTest, TableOfAnotherStampIsNotTrusted) {
  leave_sealed();
  FrameTable table;
  EXPECT_FALSE(keep(table, kStamp + 1));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(exists(file()));
}

TEST_F(FrameTableTest, TableThatWasNotSealedIsNotTrusted) {
  {
    FrameTable table;
    keep(table, 0);
    table.set(1, 1);
  }
  FrameTable table;
  EXPECT_FALSE(keep(table, kStamp));
}

TEST_F(FrameTableTest, DamagedTableIsNotTrusted) {
  leave_sealed();
  const std::string whole = read_file(file());
  std::vector<std::string> damaged = {"", whole.substr(0, 100),
                                      whole.substr(0, whole.size() - 1), whole + "x",
                                      std::string(whole.size(), '\0')};
  // The version, the size of the table, the counts, a slot at the beginning and one at the end.
  for (std::size_t at : {8ul, 12ul, 40ul, 256ul, whole.size() - 1}) {
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& content : damaged) {
    write_file(file(), content);
    FrameTable table;
    EXPECT_FALSE(keep(table, kStamp)) << content.size();
    table.set(1, 5);
    EXPECT_EQ(content_of(table), (Content{{1, 5}}));
  }
  write_file(file(), whole);
  FrameTable table;
  EXPECT_TRUE(keep(table, kStamp));
}

TEST_F(FrameTableTest, WithoutAFileItLivesInMemoryAndIsNotSealed) {
  std::filesystem::create_directory(cache() + "/table.new");
  FrameTable table;
  keep(table, 0);
  for (FrameSeq seq = 0; seq < 1000; ++seq) table.set(seq, 1);
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_NE(table.seal({kStamp, 16, {}}), 0);
  EXPECT_FALSE(exists(file()));
}

}  // namespace
}  // namespace zazen
