#include "bodhi/node/seqlog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <random>
#include <set>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

using Frames = std::vector<FrameSeq>;
constexpr std::size_t kHeaderSize = 16;
constexpr std::size_t kRecordSize = 16;

class SequenceLogTest : public testing::Test {
 protected:
  SequenceLogTest()
      : directory_(::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  SequenceLog open() {
    shown_.clear();
    auto log = SequenceLog::open(directory_.get(), "log", [this](FrameSeq seq, bool held) {
      held ? void(shown_.insert(seq)) : void(shown_.erase(seq));
    });
    EXPECT_TRUE(log.ok()) << (log.ok() ? "" : log.error().message());
    return std::move(log.value());
  }
  // The records as a start replays them.
  Frames replayed() {
    open();
    return Frames(shown_.begin(), shown_.end());
  }
  Frames read() {
    auto frames = read_sequence_log(file());
    EXPECT_TRUE(frames.ok());
    return frames->frames();
  }
  std::string file() const { return scratch_ / "log"; }
  std::size_t file_size() const { return std::filesystem::file_size(file()); }

  Scratch scratch_;
  UniqueFd directory_;
  std::set<FrameSeq> shown_;
};

TEST_F(SequenceLogTest, MissingLogIsEmpty) {
  EXPECT_EQ(read(), Frames{});
  EXPECT_EQ(replayed(), Frames{});
  EXPECT_EQ(file_size(), kHeaderSize);
  EXPECT_EQ(read(), Frames{});
}

TEST_F(SequenceLogTest, AppendForgetReplay) {
  {
    SequenceLog log = open();
    ASSERT_TRUE(log.append(Frames{7, 1, UINT64_MAX, 3}, {}).ok());
    ASSERT_TRUE(log.append({}, Frames{1}).ok());
    ASSERT_TRUE(log.append(Frames{9}, Frames{9, 3}).ok());
    ASSERT_TRUE(log.append(Frames{3}, {}).ok());
    ASSERT_TRUE(log.append({}, {}).ok());
    ASSERT_TRUE(log.flush().ok());
  }
  EXPECT_EQ(read(), (Frames{3, 7, UINT64_MAX}));
  EXPECT_EQ(replayed(), (Frames{3, 7, UINT64_MAX}));
}

TEST_F(SequenceLogTest, AppendContinuesWhereTheLogEnded) {
  ASSERT_TRUE(open().append(Frames{1, 2}, {}).ok());
  ASSERT_TRUE(open().append(Frames{3}, {}).ok());
  EXPECT_EQ(read(), (Frames{1, 2, 3}));
}

TEST_F(SequenceLogTest, RandomHistoryAgreesWithASet) {
  std::mt19937_64 random(5);
  std::set<FrameSeq> expected;
  for (int session = 0; session < 30; ++session) {
    SequenceLog log = open();
    EXPECT_EQ(shown_, expected);
    for (int i = 0; i < 20; ++i) {
      Frames added, forgotten;
      for (int n = static_cast<int>(random() % 5); n > 0; --n) added.push_back(random() % 100);
      for (int n = static_cast<int>(random() % 4); n > 0; --n) {
        forgotten.push_back(random() % 100);
      }
      ASSERT_TRUE(log.append(added, forgotten).ok());
      expected.insert(added.begin(), added.end());
      for (FrameSeq seq : forgotten) expected.erase(seq);
      ASSERT_EQ(read(), Frames(expected.begin(), expected.end()));
    }
  }
}

TEST_F(SequenceLogTest, TornTailAtEveryLengthIsDropped) {
  ASSERT_TRUE(open().append(Frames{10, 20, 30, 40}, {}).ok());
  const std::string whole = read_file(file());
  ASSERT_EQ(whole.size(), kHeaderSize + 4 * kRecordSize);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    write_file(file(), whole.substr(0, length));
    std::size_t records = length < kHeaderSize ? 0 : (length - kHeaderSize) / kRecordSize;
    Frames expected;
    for (std::size_t i = 0; i < records; ++i) expected.push_back(10 * (i + 1));
    ASSERT_EQ(read(), expected) << length;
    {
      SequenceLog log = open();
      ASSERT_EQ(Frames(shown_.begin(), shown_.end()), expected) << length;
      ASSERT_EQ(file_size(), kHeaderSize + records * kRecordSize) << length;
      ASSERT_TRUE(log.append(Frames{99}, {}).ok());
    }
    expected.push_back(99);
    ASSERT_EQ(read(), expected) << length;
  }
}

TEST_F(SequenceLogTest, FlippedBitEndsTheLogThere) {
  ASSERT_TRUE(open().append(Frames{10, 20, 30}, {}).ok());
  const std::string whole = read_file(file());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(file(), damaged);
    Frames expected;
    std::size_t good = bit / 8 < kHeaderSize ? 0 : (bit / 8 - kHeaderSize) / kRecordSize;
    for (std::size_t i = 0; i < good; ++i) expected.push_back(10 * (i + 1));
    ASSERT_EQ(read(), expected) << "bit " << bit;
    ASSERT_EQ(replayed(), expected) << "bit " << bit;
    ASSERT_EQ(read_file(file()), whole.substr(0, kHeaderSize + good * kRecordSize));
  }
}

TEST_F(SequenceLogTest, ZeroesAreNotRecords) {
  ASSERT_TRUE(open().append(Frames{10}, {}).ok());
  write_file(file(), read_file(file()) + std::string(kRecordSize, '\0'));
  EXPECT_EQ(read(), Frames{10});
}

TEST_F(SequenceLogTest, WrittenAnewItHasJustTheseFrames) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{1, 2, 3, 4}, Frames{1, 2}).ok());
  ASSERT_TRUE(log.write_anew(directory_.get(), "log", Frames{4, 3}).ok());
  EXPECT_EQ(file_size(), kHeaderSize + 2 * kRecordSize);
  EXPECT_EQ(log.records(), 2u);
  EXPECT_EQ(log.added_since(1), Frames{3});
  ASSERT_TRUE(log.append(Frames{5}, {}).ok());
  EXPECT_EQ(read(), (Frames{3, 4, 5}));
  EXPECT_EQ(entries_in(scratch_.path()), 1u);
}

TEST_F(SequenceLogTest, LogStaysAsItWasIfItCannotBeWrittenAnew) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{1, 2, 3}, Frames{1, 2}).ok());
  std::filesystem::create_directory(scratch_ / "log.new");
  EXPECT_FALSE(log.write_anew(directory_.get(), "log", Frames{3}).ok());
  EXPECT_EQ(file_size(), kHeaderSize + 5 * kRecordSize);
  ASSERT_TRUE(log.append(Frames{6}, {}).ok());
  EXPECT_EQ(read(), (Frames{3, 6}));
}

TEST_F(SequenceLogTest, ResumedOnlyAtTheSizeThatItHad) {
  ASSERT_TRUE(open().append(Frames{1}, {}).ok());
  std::uint64_t size = file_size();
  EXPECT_FALSE(SequenceLog::resume(directory_.get(), "log", size + kRecordSize).ok());
  EXPECT_FALSE(SequenceLog::resume(directory_.get(), "no-log", size).ok());
  auto log = SequenceLog::resume(directory_.get(), "log", size);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->append(Frames{2}, {}).ok());
  EXPECT_EQ(read(), (Frames{1, 2}));
}

TEST_F(SequenceLogTest, TheLastRecordsInTheirOrder) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{9, 3, 7}, Frames{3}).ok());
  ASSERT_TRUE(log.append(Frames{5}, {}).ok());
  EXPECT_EQ(log.added_since(0), (Frames{9, 3, 7, 5}));
  EXPECT_EQ(log.added_since(2), (Frames{7, 5}));
  EXPECT_EQ(log.added_since(99), Frames{});
}

TEST_F(SequenceLogTest, SummaryAndTheRecordsBehindItAreTheWholeLog) {
  std::mt19937_64 random(7);
  SequenceLog log = open();
  std::set<FrameSeq> truth;
  for (int round = 0; round < 60; ++round) {
    Frames added, forgotten;
    for (int i = 0; i < 20; ++i) {
      const FrameSeq seq = random() % 300;
      if (random() % 3 != 0) {
        added.push_back(seq);
        truth.insert(seq);
      }
    }
    for (int i = 0; i < 8; ++i) {
      forgotten.push_back(random() % 300);
      truth.erase(forgotten.back());
    }
    ASSERT_TRUE(log.append(added, forgotten).ok());
    if (random() % 4 == 0) {
      ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
    }
    ASSERT_EQ(read(), Frames(truth.begin(), truth.end())) << round;
  }
  EXPECT_EQ(replayed(), Frames(truth.begin(), truth.end()));
}

TEST_F(SequenceLogTest, WhatASummaryCoversIsNotReadAgain) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{4, 5, 6}, Frames{5}).ok());
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  ASSERT_TRUE(log.append(Frames{9}, Frames{4}).ok());
  std::string bytes = read_file(file());
  bytes[kHeaderSize + 1] ^= 1;
  write_file(file(), bytes);
  EXPECT_EQ(read(), (Frames{6, 9}));
}

// Damage anywhere that no summary covers yet, then more records and summaries.
TEST_F(SequenceLogTest, SummaryOfADamagedLogEndsWhereTheLogEnds) {
  const std::string summary = scratch_ / "log.summary", aside = scratch_ / "aside";
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    for (const std::string& name : {file(), summary}) std::filesystem::remove(name);
    SequenceLog log = open();
    std::size_t covered = 0;
    for (int round = 0; round < 12; ++round) {
      Frames added, forgotten;
      for (int i = 0; i < 6; ++i) added.push_back(random() % 60);
      for (int i = 0; i < 3; ++i) forgotten.push_back(random() % 60);
      ASSERT_TRUE(log.append(added, forgotten).ok());
      if (random() % 4 == 0) {
        std::string bytes = read_file(file());
        bytes[covered + random() % (bytes.size() - covered)] ^=
            static_cast<char>(1 << random() % 8);
        write_file(file(), bytes);
      }
      if (random() % 2 == 0) {
        ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
        covered = log.size_bytes();
      }
      const Frames with = read();
      const bool is_there = std::filesystem::exists(summary);
      if (is_there) std::filesystem::rename(summary, aside);
      const Frames without = read();
      if (is_there) std::filesystem::rename(aside, summary);
      ASSERT_EQ(with, without) << seed << ", round " << round;
    }
  }
}

TEST_F(SequenceLogTest, DamagedHeaderLeavesNothing) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{4, 5, 6}, {}).ok());
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  std::string bytes = read_file(file());
  bytes[3] ^= 1;
  write_file(file(), bytes);
  EXPECT_EQ(read(), Frames{});
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  EXPECT_EQ(read(), Frames{});
}

TEST_F(SequenceLogTest, DamagedSummaryIsNotUsed) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{4, 8, 12, 100}, {}).ok());
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  ASSERT_TRUE(log.append({}, Frames{8}).ok());
  const std::string sound = read_file(scratch_ / "log.summary");
  for (std::size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] ^= 2;
    write_file(scratch_ / "log.summary", damaged);
    EXPECT_EQ(read(), (Frames{4, 12, 100})) << i;
    write_file(scratch_ / "log.summary", sound.substr(0, i));
    EXPECT_EQ(read(), (Frames{4, 12, 100})) << i;
  }
}

TEST_F(SequenceLogTest, SummaryOfAnotherLogIsNotUsed) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{1, 2, 3}, {}).ok());
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  // More than the log has: it was cut.
  std::filesystem::resize_file(file(), kHeaderSize + 2 * kRecordSize);
  EXPECT_EQ(read(), (Frames{1, 2}));
  // As it is while a new log takes the place of the old one.
  ASSERT_TRUE(open().append(Frames{3}, {}).ok());
  log = open();
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  std::filesystem::copy(scratch_ / "log.summary", scratch_ / "kept");
  ASSERT_TRUE(log.write_anew(directory_.get(), "log", Frames{7, 8, 9, 10}).ok());
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "log.summary"));
  std::filesystem::rename(scratch_ / "kept", scratch_ / "log.summary");
  EXPECT_EQ(read(), (Frames{7, 8, 9, 10}));
}

TEST_F(SequenceLogTest, ReplayRemovesTheSummaryAndResumeKeepsIt) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames(16'384, 3), {}).ok());
  EXPECT_TRUE(log.wants_summary());
  ASSERT_TRUE(log.summarize(directory_.get(), "log").ok());
  EXPECT_FALSE(log.wants_summary());
  auto resumed = SequenceLog::resume(directory_.get(), "log", log.size_bytes());
  ASSERT_TRUE(resumed.ok());
  EXPECT_FALSE(resumed->wants_summary());
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "log.summary"));
  write_file(scratch_ / "log.summary.new", "of a crash");
  EXPECT_TRUE(open().wants_summary());
  EXPECT_EQ(entries_in(scratch_.path()), 1u);
}

// A limit of the file size cuts a write in the middle, as a full disk does.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    struct rlimit limit = {bytes, old_limit_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  struct rlimit old_limit_;
  sighandler_t old_handler_;
};

TEST_F(SequenceLogTest, AppendThatDoesNotFitLeavesNothing) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{1, 2}, {}).ok());
  {
    SizeLimit limit(kHeaderSize + 3 * kRecordSize + 5);
    auto refused = log.append(Frames{3, 4, 5}, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EFBIG);
  }
  EXPECT_EQ(file_size(), kHeaderSize + 2 * kRecordSize);
  EXPECT_EQ(read(), (Frames{1, 2}));
  ASSERT_TRUE(log.append(Frames{6}, {}).ok());
  EXPECT_EQ(read(), (Frames{1, 2, 6}));
}

TEST_F(SequenceLogTest, NoRoomToWriteItAnew) {
  SequenceLog log = open();
  ASSERT_TRUE(log.append(Frames{1, 2, 3}, Frames{1, 2}).ok());
  {
    SizeLimit limit(kHeaderSize + 4);
    EXPECT_FALSE(log.write_anew(directory_.get(), "log", Frames{3}).ok());
  }
  EXPECT_EQ(file_size(), kHeaderSize + 5 * kRecordSize);
  EXPECT_EQ(entries_in(scratch_.path()), 1u);
}

TEST_F(SequenceLogTest, ErrorsAreValues) {
  std::filesystem::create_directory(scratch_ / "log");
  auto log = SequenceLog::open(directory_.get(), "log");
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, EISDIR);
  auto frames = read_sequence_log(file());
  ASSERT_FALSE(frames.ok());
  EXPECT_EQ(frames.error().code, EISDIR);
}

TEST_F(SequenceLogTest, ManyRecordsSpanSeveralChunks) {
  Frames frames;
  for (FrameSeq seq = 0; seq < 200'000; ++seq) frames.push_back(seq * 3);
  ASSERT_TRUE(open().append(frames, Frames{0}).ok());
  frames.erase(frames.begin());
  EXPECT_EQ(read(), frames);
  EXPECT_EQ(replayed(), frames);
}

}  // namespace
}  // namespace zazen
