#include "bodhi/lean/run/ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace zazen {
namespace {

using Noted = std::map<std::pair<std::uint32_t, FrameSeq>, std::uint32_t>;

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : ledger_(make_ledger()) {}
  ~LedgerTest() override { ::munmap(ledger_, sizeof(Ledger)); }

  Noted noted() const {
    Noted all;
    ledger_->for_each([&](std::uint32_t dataset, FrameSeq seq, std::uint32_t flags) {
      EXPECT_TRUE(all.emplace(std::pair(dataset, seq), flags).second);
    });
    return all;
  }
  // Pages of it that hold memory.
  std::size_t resident_pages() const {
    std::vector<unsigned char> pages((sizeof(Ledger) + 4095) / 4096);
    EXPECT_EQ(::mincore(ledger_, sizeof(Ledger), pages.data()), 0);
    return static_cast<std::size_t>(std::count(pages.begin(), pages.end(), 1));
  }

  Ledger* ledger_;
};

TEST_F(LedgerTest, NotesFlagsOnce) {
  ASSERT_NE(ledger_, nullptr);
  EXPECT_TRUE(noted().empty());
  ledger_->note(0, 0, Ledger::kListed);
  ledger_->note(0, 0, Ledger::kOpened);
  ledger_->note(1, 0, Ledger::kListed);
  ledger_->note(254, Ledger::kMaxSeq, Ledger::kOpened);
  EXPECT_EQ(noted(), (Noted{{{0, 0}, Ledger::kListed | Ledger::kOpened},
                            {{1, 0}, Ledger::kListed},
                            {{254, Ledger::kMaxSeq}, Ledger::kOpened}}));
  EXPECT_EQ(ledger_->overflowed, 0u);
}

TEST_F(LedgerTest, WhatCannotBeNotedIsSaid) {
  ledger_->note(0, Ledger::kMaxSeq + 1, Ledger::kListed);
  EXPECT_EQ(ledger_->overflowed, 1u);
  ledger_->overflowed = 0;
  ledger_->note(255, 1, Ledger::kListed);
  EXPECT_EQ(ledger_->overflowed, 1u);
  EXPECT_TRUE(noted().empty());
}

TEST_F(LedgerTest, AMillionFramesOfAnyStrideFit) {
  for (FrameSeq seq = 0; seq < 500'000; ++seq) ledger_->note(0, seq, Ledger::kListed);
  for (FrameSeq i = 0; i < 500'000; ++i) ledger_->note(1, i * 256, Ledger::kListed);
  EXPECT_EQ(ledger_->overflowed, 0u);
  std::size_t count = 0;
  ledger_->for_each([&](std::uint32_t, FrameSeq, std::uint32_t) { ++count; });
  EXPECT_EQ(count, 1'000'000u);
}

TEST_F(LedgerTest, FewFramesTouchFewPages) {
  for (FrameSeq seq = 0; seq < 2560; ++seq) ledger_->note(0, seq, Ledger::kListed);
  EXPECT_EQ(noted().size(), 2560u);
  EXPECT_LT(resident_pages(), 100u);
}

TEST_F(LedgerTest, AFullTableOverflowsAndLosesNothingElse) {
  for (FrameSeq seq = 0; seq < Ledger::kSlots + 1000; ++seq) {
    ledger_->note(0, seq, Ledger::kListed);
  }
  EXPECT_EQ(ledger_->overflowed, 1u);
  ledger_->note(0, 5, Ledger::kOpened);
  std::uint32_t flags_of_5 = 0;
  ledger_->for_each([&](std::uint32_t, FrameSeq seq, std::uint32_t flags) {
    if (seq == 5) flags_of_5 = flags;
  });
  EXPECT_EQ(flags_of_5, Ledger::kListed | Ledger::kOpened);
}

TEST_F(LedgerTest, TellsWhatIsNew) {
  EXPECT_TRUE(ledger_->note(0, 7, Ledger::kListed));
  EXPECT_TRUE(ledger_->note(0, 7, Ledger::kOpened));
  EXPECT_FALSE(ledger_->note(0, 7, Ledger::kOpened));
  EXPECT_FALSE(ledger_->note(0, 7, Ledger::kListed));
  EXPECT_FALSE(ledger_->note(Ledger::kNoDataset, 7, Ledger::kOpened));
}

TEST_F(LedgerTest, NumbersDatasetsByTheirPaths) {
  auto number = [this](const std::string& path) {
    return ledger_->dataset_of(text_key(path.c_str()), path.c_str());
  };
  for (int i = 0; i < 255; ++i) {
    const std::string path = "/sim" + std::to_string(i);
    EXPECT_EQ(ledger_->path_of(number(path)), path);
    EXPECT_EQ(number(path), number(path));
  }
  EXPECT_EQ(number("/one more"), Ledger::kNoDataset);
}

// A file with a hole on a disk that is full: to touch it would be a SIGBUS.
TEST_F(LedgerTest, AFullDiskOverflowsAndHarmsNobody) {
  const char* directory = ::getenv("TMPDIR");
  std::string path = std::string(directory == nullptr ? "/tmp" : directory) + "/ledgerXXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", path.c_str(), "tmpfs", 0, "size=64k") != 0) {
    ::rmdir(path.c_str());
    GTEST_SKIP() << "only root can mount";
  }
  const int fd = ::open((path + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::ftruncate(fd, sizeof(Ledger)), 0);
  void* memory = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* ledger = static_cast<Ledger*>(memory);
  std::uint64_t noted = 0;
  for (FrameSeq seq = 0; seq < 100; ++seq) noted += ledger->note(0, seq * 512, Ledger::kOpened);
  EXPECT_GT(noted, 2U);
  EXPECT_LT(noted, 17U);
  EXPECT_EQ(ledger->overflowed, 1U);
  EXPECT_STREQ(ledger->path_of(ledger->dataset_of(5, "/sim1")), "");
  std::uint64_t visited = 0;
  ledger->for_each([&](std::uint32_t, FrameSeq, std::uint32_t) { ++visited; });
  EXPECT_EQ(visited, noted);
  ::munmap(memory, sizeof(Ledger));
  ::close(fd);
  ::umount2(path.c_str(), MNT_DETACH);
  ::rmdir(path.c_str());
}

TEST_F(LedgerTest, ThreadsAndChildrenWriteIntoTheSame) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (FrameSeq seq = 0; seq < 20'000; ++seq) {
        ledger_->note(0, seq, t % 2 ? Ledger::kListed : Ledger::kOpened);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pid_t child = ::fork();
  if (child == 0) {
    ledger_->note(3, 77, Ledger::kOpened);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  Noted all = noted();
  EXPECT_EQ(all.size(), 20'001u);
  EXPECT_EQ((all[{3, 77}]), Ledger::kOpened);
  EXPECT_EQ((all[{0, 19'999}]), Ledger::kListed | Ledger::kOpened);
}

}  // namespace
}  // namespace zazen
