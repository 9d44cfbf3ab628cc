// Frames of a real directory that change before, between and after the looks.
#include "daemon/worker/changes/changing_frames.h"

#include <condition_variable>
#include <thread>

#include "bodhi/lean/frames/identity.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using namespace std::chrono_literals;

class ChangingFramesTest : public Scratch {
 protected:
  static constexpr ChangingFrames::Limits kQuick{16, 2ms, 5ms, 50ms, 200ms};

  void start(const ChangingFrames::Limits& limits = kQuick) {
    frames_ = std::make_unique<ChangingFrames>(
        config_,
        ChangingFrames::Hooks{[this](std::uint32_t, FrameSeq seq, const FrameVersion& version) {
                                std::lock_guard lock(mutex_);
                                told_.emplace_back(seq, version);
                                changed_.notify_all();
                              },
                              [this](std::uint32_t) {
                                std::lock_guard lock(mutex_);
                                ++distrusts_;
                                changed_.notify_all();
                              }},
        limits);
  }

  template <class Condition>
  bool comes_true(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, condition);
  }
  bool is_told(std::size_t count) {
    return comes_true([&] { return told_.size() >= count; });
  }
  bool rests() {
    for (auto end = std::chrono::steady_clock::now() + 20s; frames_->count() > 0;) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
  std::size_t told() {
    std::lock_guard lock(mutex_);
    return told_.size();
  }

  FrameVersion version(const std::string& name) const {
    struct stat st = {};
    ::stat(origin(name).c_str(), &st);
    return {false, static_cast<std::uint64_t>(st.st_size), to_ns(st.st_mtim),
            to_ns(st.st_ctim)};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<FrameSeq, FrameVersion>> told_;
  int distrusts_ = 0;
  std::unique_ptr<ChangingFrames> frames_;
};

TEST_F(ChangingFramesTest, TellsWhatTheFrameIsAndRests) {
  write_file(origin("f1"), "one");
  start();
  frames_->take(0, 1);
  ASSERT_TRUE(is_told(1));
  EXPECT_TRUE(rests());
  EXPECT_EQ(told_, (decltype(told_){{1, version("f1")}})) << "once";
}

TEST_F(ChangingFramesTest, AKnownVersionIsNotTold) {
  write_file(origin("f1"), "one");
  start();
  frames_->take(0, 1, version("f1"));
  EXPECT_TRUE(rests());
  EXPECT_EQ(told(), 0u);
}

TEST_F(ChangingFramesTest, AChangeAfterTheFirstLookIsTold) {
  write_file(origin("f1"), "one");
  start({16, 2ms, 5ms, 20'000ms, 20'000ms});
  frames_->take(0, 1);
  ASSERT_TRUE(is_told(1));
  write_file(origin("f1"), "longer");
  ASSERT_TRUE(comes_true([&] { return told_.back().second.size == 6; }));
}

TEST_F(ChangingFramesTest, WhatIsGoneIsTold) {
  start();
  frames_->take(0, 1);
  ASSERT_TRUE(is_told(1));
  EXPECT_TRUE(told_[0].second.gone);
  EXPECT_TRUE(rests());
  write_file(origin("f1"), "one");
  frames_->take(0, 1);
  ASSERT_TRUE(is_told(2));
  EXPECT_EQ(told_[1].second, version("f1"));
}

TEST_F(ChangingFramesTest, AnOriginThatIsNotThereProvesNothing) {
  std::filesystem::remove_all(origin());
  start();
  frames_->take(0, 1);
  EXPECT_TRUE(comes_true([&] { return distrusts_ > 0; }));
  EXPECT_EQ(told(), 0u);
  EXPECT_TRUE(rests());
}

TEST_F(ChangingFramesTest, AFrameWithAWriterIsWatchedUntilItIsClosed) {
  write_file(origin("f1"), "one");
  UniqueFd writer(::open(origin("f1").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  start();
  frames_->take(0, 1);
  ASSERT_TRUE(is_told(1));
  std::this_thread::sleep_for(4 * kQuick.rest);
  EXPECT_EQ(frames_->count(), 1u);
  ASSERT_EQ(::write(writer.get(), "more", 4), 4);
  ASSERT_TRUE(comes_true([&] { return told_.back().second.size == 7; }));
  writer.reset();
  EXPECT_TRUE(rests());
}

TEST_F(ChangingFramesTest, TooManyAtOnceAreDistrusted) {
  start({2, 2ms, 5ms, 20'000ms, 20'000ms});
  for (FrameSeq seq = 1; seq <= 5; ++seq) {
    write_file(origin("f" + std::to_string(seq)), "one");
    frames_->take(0, seq);
  }
  EXPECT_TRUE(comes_true([&] { return distrusts_ > 0; }));
  EXPECT_TRUE(is_told(2));
  EXPECT_EQ(frames_->count(), 2u);
}

}  // namespace
}  // namespace zazen
