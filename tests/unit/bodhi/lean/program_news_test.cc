// Messages of programs to the worker of their user, through shared memory.
#include "bodhi/lean/frames/program_news.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace zazen {
namespace {

class ProgramNewsTest : public testing::Test {
 protected:
  ProgramNewsTest()
      : news_(*static_cast<ProgramNews*>(::mmap(nullptr, sizeof(ProgramNews),
                                                PROT_READ | PROT_WRITE,
                                                MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~ProgramNewsTest() override { ::munmap(&news_, sizeof(ProgramNews)); }

  std::vector<FrameEntry> take() {
    std::vector<FrameEntry> taken;
    take_news(news_, [&](const FrameEntry& entry, NewsWord*) { taken.push_back(entry); });
    return taken;
  }

  bool ask_and_wait(const FrameEntry& entry, int limit_ms) {
    const NewsWord* place = ask_by_news(news_, entry);
    return place != nullptr && await_reader(news_, entry, place, limit_ms);
  }

  ProgramNews& news_;
};

TEST_F(ProgramNewsTest, AnEntryKeepsAllItsParts) {
  for (const FrameEntry& entry : {FrameEntry{0, 0, kNewsWritten}, FrameEntry{255, kMostSeq, 15},
                                  FrameEntry{7, 1'000'000, kNewsChanged}}) {
    EXPECT_NE(pack_entry(entry), 0u);
    EXPECT_EQ(unpack_entry(pack_entry(entry)), entry);
  }
}

TEST_F(ProgramNewsTest, NothingIsAddedWhereNobodyReads) {
  EXPECT_FALSE(add_news(news_, {1, 2, kNewsWritten}));
  EXPECT_FALSE(ask_and_wait({1, 2, kNewsDrop}, 1000));
  ASSERT_TRUE(begin_reading(news_, own_reader() + 1));  // of other credentials
  EXPECT_FALSE(add_news(news_, {1, 2, kNewsWritten}));
  EXPECT_TRUE(take().empty());
}

TEST_F(ProgramNewsTest, WhatIsAddedIsTakenOnce) {
  ASSERT_TRUE(begin_reading(news_, own_reader()));
  EXPECT_FALSE(begin_reading(news_, kReadsForAll));
  EXPECT_TRUE(add_news(news_, {1, 2, kNewsWritten}));
  EXPECT_TRUE(add_news(news_, {1, 2, kNewsWritten}));  // it is there already
  EXPECT_EQ(take(), (std::vector<FrameEntry>{{1, 2, kNewsWritten}}));
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(add_news(news_, {1, kMostSeq + 1, kNewsWritten}));
}

TEST_F(ProgramNewsTest, AMissSaysWhichFileWasOpened) {
  ASSERT_TRUE(begin_reading(news_, own_reader()));
  const std::uint64_t one = file_mark(8, 1, 100), other = file_mark(8, 1, 101);
  EXPECT_NE(one, other);
  EXPECT_NE(one, file_mark(8, 2, 100));
  EXPECT_NE(one, 0u);
  const FrameEntry miss{1, 2, kNewsMissed, one}, again{1, 2, kNewsMissed, other};
  EXPECT_TRUE(add_news(news_, miss));
  EXPECT_TRUE(add_news(news_, again));  // it is there already
  EXPECT_EQ(take(), std::vector<FrameEntry>{miss});
  EXPECT_TRUE(add_news(news_, again));
  EXPECT_EQ(take(), std::vector<FrameEntry>{again});
}

TEST_F(ProgramNewsTest, AReaderThatLeavesIsNoticed) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  EXPECT_TRUE(add_news(news_, {1, 2, kNewsWritten}));
  news_.reader = 0;
  EXPECT_FALSE(add_news(news_, {1, 3, kNewsWritten}));
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));  // the next one finds what was left
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(ProgramNewsTest, TooManyAreRefusedAndNoneIsLost) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  std::size_t added = 0;
  for (FrameSeq seq = 0; seq < 3 * ProgramNews::kRoom; ++seq) {
    if (add_news(news_, {0, seq, kNewsWritten})) ++added;
  }
  EXPECT_GT(added, ProgramNews::kRoom / 2);
  EXPECT_EQ(take().size(), added);
}

// Each of several processes, one of which is killed, tells of each frame that it has "written".
// The reader sees every frame, and always its last version.
TEST_F(ProgramNewsTest, ManyProcessesAtOnce) {
  constexpr FrameSeq kFrames = 64;
  constexpr std::uint32_t kVersions = 3000;
  constexpr int kProcesses = 3;
  using Version = std::atomic<std::uint32_t>;
  auto* versions =
      static_cast<Version*>(::mmap(nullptr, kProcesses * kFrames * sizeof(Version),
                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  std::vector<pid_t> children;
  for (std::uint32_t process = 0; process <= kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (std::uint32_t i = 1; process == kProcesses || i <= kVersions; ++i) {
      const FrameSeq seq = i % kFrames;
      if (process < kProcesses) versions[process * kFrames + seq] = i;
      while (!add_news(news_, {process, seq, kNewsWritten})) ::usleep(10);
    }
    ::_exit(0);
  }
  std::map<std::pair<std::uint32_t, FrameSeq>, std::uint32_t> seen;
  auto look = [&] {
    take_news(news_, [&](const FrameEntry& entry, NewsWord*) {
      if (entry.dataset == kProcesses) return;
      seen[{entry.dataset, entry.seq}] = versions[entry.dataset * kFrames + entry.seq];
    });
  };
  ::usleep(1000);
  ::kill(children.back(), SIGKILL);
  for (pid_t child : children) {
    while (::waitpid(child, nullptr, WNOHANG) == 0) {
      look();
      await_news(news_, 1, false);
    }
  }
  look();
  EXPECT_EQ(seen.size(), kProcesses * kFrames);
  for (const auto& [frame, version] : seen) {
    EXPECT_EQ(version, versions[frame.first * kFrames + frame.second]);
  }
  ::munmap(versions, kProcesses * kFrames * sizeof(Version));
}

TEST_F(ProgramNewsTest, ASleepingReaderIsWoken) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  std::jthread program([&] {
    while (news_.sleep != ProgramNews::kAsleep) std::this_thread::yield();
    add_news(news_, {1, 2, kNewsWritten});
  });
  while (take().empty()) await_news(news_, 600'000, true);
}

TEST_F(ProgramNewsTest, AProgramWaitsUntilItsCopyIsDropped) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  std::atomic<bool> dropped = false;
  std::jthread program([&] {
    EXPECT_TRUE(ask_and_wait({1, 2, kNewsDrop}, 600'000));
    EXPECT_TRUE(dropped);
  });
  for (std::size_t taken = 0; taken == 0;) {
    await_news(news_, 600'000, false);
    taken = take_news(news_, [&](const FrameEntry& entry, NewsWord* word) {
      EXPECT_EQ(entry.seq, 2u);
      ASSERT_NE(word, nullptr);
      dropped = true;
      settle_news(news_, entry, word);
    });
  }
}

// On file systems without leases the worker counts opens against closes.
TEST_F(ProgramNewsTest, EachOpenHasAnEntryOfItsOwn) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  const FrameEntry opened{1, 2, kNewsOpened};
  const NewsWord *first = ask_by_news(news_, opened), *second = ask_by_news(news_, opened);
  EXPECT_NE(first, second);
  EXPECT_TRUE(add_news(news_, opened));  // by a program that does not wait
  std::vector<NewsWord*> words;
  take_news(news_, [&](const FrameEntry& entry, NewsWord* word) {
    EXPECT_EQ(entry, opened);
    words.push_back(word);
  });
  ASSERT_EQ(words.size(), 3u);
  settle_news(news_, opened, words[0]);
  EXPECT_NE(await_reader(news_, opened, first, 0), await_reader(news_, opened, second, 0));
  for (NewsWord* word : words) settle_news(news_, opened, word);
  EXPECT_TRUE(await_reader(news_, opened, first, 0));
  EXPECT_TRUE(await_reader(news_, opened, second, 0));
}

// The reader has begun with one entry when another program tells of the same frame: that is
// looked at once more. A reader that ends in the middle leaves it to the next.
TEST_F(ProgramNewsTest, AnEntryThatIsTakenCountsForNobodyElse) {
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  const FrameEntry entry{1, 2, kNewsDrop};
  EXPECT_FALSE(ask_and_wait(entry, 0));  // too long for this one; the entry stays
  EXPECT_EQ(take().size(), 1u);
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(ask_and_wait(entry, 0));
  EXPECT_EQ(take().size(), 1u);
  news_.reader = 0;
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  std::vector<NewsWord*> words;
  take_news(news_, [&](const FrameEntry&, NewsWord* word) { words.push_back(word); });
  EXPECT_EQ(words.size(), 2u);
  for (NewsWord* word : words) settle_news(news_, entry, word);
  news_.reader = 0;
  ASSERT_TRUE(begin_reading(news_, kReadsForAll));
  EXPECT_TRUE(take().empty());
}

}  // namespace
}  // namespace zazen
