#include "daemon/frame_table.h"

#include <functional>
#include <map>
#include <set>

#include "daemon/table_turn.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

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

// A mutex behind which somebody else changes the table whenever it is let go.
struct BusyMutex {
  void lock() {
    if (++locked > 1 && change) change(locked);
  }
  void unlock() {}
  std::function<void(int)> change;
  int locked = 0;
};

constexpr FrameSeq kMany = 3 * FrameTable::kSlotsOfOneLook;

std::set<FrameSeq> look_at_all(const FrameTable& table, std::function<void(int)> change) {
  std::set<FrameSeq> shown;
  BusyMutex mutex{std::move(change)};
  table.look_at_all(
      mutex, [&] { shown.clear(); }, [&](FrameSeq seq, std::uint64_t) { shown.insert(seq); });
  return shown;
}

TEST_F(FrameTableTest, LookAtAllMissesNothingWhileTheTableGrows) {
  FrameTable table;
  for (FrameSeq seq = 0; seq < kMany; ++seq) table.set(seq, 1);
  FrameSeq added = kMany;
  std::set<FrameSeq> shown = look_at_all(table, [&](int locked) {
    // Twice as large in the middle of the first look.
    for (; locked == 3 && added < 3 * kMany; ++added) table.set(added, 1);
  });
  for (FrameSeq seq = 0; seq < kMany; ++seq) ASSERT_TRUE(shown.contains(seq)) << seq;
}

TEST_F(FrameTableTest, LookAtAllMissesNothingWhileTheTableShrinks) {
  FrameTable table;
  for (FrameSeq seq = 0; seq < kMany; ++seq) table.set(seq, 1);
  std::set<FrameSeq> shown = look_at_all(table, [&](int locked) {
    // A few go with each part, so that the others move up; then nearly all.
    std::mt19937_64 random(static_cast<std::uint64_t>(locked));
    for (int i = 0; i < 1'000; ++i) table.erase(kMany / 8 + random() % (kMany - kMany / 8));
    if (locked != 6) return;
    for (FrameSeq seq = kMany / 8; seq < kMany; ++seq) table.erase(seq);
  });
  for (FrameSeq seq = 0; seq < kMany / 8; ++seq) ASSERT_TRUE(shown.contains(seq)) << seq;
}

TEST_F(FrameTableTest, LookAtAllEndsThoughTheTableIsRearrangedWithoutEnd) {
  FrameTable table;
  for (FrameSeq seq = 0; seq < kMany; ++seq) table.set(seq, 1);
  int times = 0;
  std::set<FrameSeq> shown = look_at_all(table, [&](int) {
    ++times;
    ASSERT_LT(times, 100);
    for (FrameSeq seq = kMany; seq < 3 * kMany; ++seq) {
      times % 2 == 1 ? table.set(seq, 1) : static_cast<void>(table.erase(seq));
    }
  });
  for (FrameSeq seq = 0; seq < kMany; ++seq) ASSERT_TRUE(shown.contains(seq)) << seq;
}

TEST_F(FrameTableTest, TurnsMeetEveryFrameInEachRoundAndAreBounded) {
  FrameTable natives, aliens;
  for (FrameSeq seq = 0; seq < 20'000; ++seq) (seq % 3 == 0 ? natives : aliens).set(seq, 1);
  TableTurn turn;
  for (int round = 0; round < 2; ++round) {
    std::set<FrameSeq> met;
    int slices = 0;
    for (; met.size() < 20'000 && slices < 100; ++slices) {
      std::vector<FrameSeq> slice = turn.next({&natives, &aliens});
      EXPECT_LT(slice.size(), TableTurn::kFrames + TableTurn::kSlots);
      met.insert(slice.begin(), slice.end());
    }
    EXPECT_EQ(met.size(), 20'000u) << "in round " << round;
  }
}

TEST_F(FrameTableTest, FewFramesAreMetInEachTurn) {
  FrameTable natives, aliens;
  for (FrameSeq seq = 0; seq < 300; ++seq) (seq < 10 ? natives : aliens).set(seq, 1);
  TableTurn turn;
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
  // It is open again: who finds it now must not believe it.
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
