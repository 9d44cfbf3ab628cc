// A disk that fails or is slow is taken out of use, and comes back by itself.
#include "daemon/disk/disk_health.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <vector>

namespace zazen {
namespace {

class DiskHealthTest : public ::testing::Test {
 protected:
  void await_changes(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return changes_.size() >= count; });
  }
  void watch(DiskHealth& health) {
    health.watch([this](bool usable) {
      std::lock_guard lock(mutex_);
      changes_.push_back(usable);
      changed_.notify_all();
    });
  }
  std::vector<bool> changes() {
    std::lock_guard lock(mutex_);
    return changes_;
  }

  std::atomic<int> probe_code_ = 0;
  std::atomic<int> probes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> changes_;
  DiskHealth::Probe probe_ = [this] {
    ++probes_;
    return probe_code_.load();
  };
};

TEST_F(DiskHealthTest, FailingDiskIsOutOfUseUntilAProbeSucceeds) {
  DiskHealth health(probe_);
  watch(health);
  probe_code_ = EROFS;
  health.note(EIO);
  await_changes(1);
  while (probes_ < 2) std::this_thread::yield();
  EXPECT_EQ(changes(), std::vector<bool>{false});
  EXPECT_NE(health.problem(), "");
  probe_code_ = 0;
  await_changes(2);
  EXPECT_EQ(changes(), (std::vector<bool>{false, true}));
  EXPECT_EQ(health.problem(), "");
}

TEST_F(DiskHealthTest, OneErrorOfAGoodDiskIsForgotten) {
  DiskHealth health(probe_);
  watch(health);
  health.note(EIO);
  await_changes(2);
  EXPECT_EQ(changes(), (std::vector<bool>{false, true}));
  EXPECT_EQ(probes_, 1);
}

TEST_F(DiskHealthTest, WhatIsNotTheDisksFaultIsIgnored) {
  DiskHealth health(probe_);
  watch(health);
  for (int code : {0, ENOSPC, EDQUOT, ENOENT, ESTALE, ECANCELED, EACCES}) health.note(code);
  health.note(EIO);  // so that there is something to wait for
  await_changes(2);
  EXPECT_EQ(probes_, 1);
}

TEST_F(DiskHealthTest, OperationThatTakesTooLongTakesItOut) {
  DiskHealth health(probe_, 50);
  watch(health);
  { DiskHealth::Operation quick(health); }
  {
    DiskHealth::Operation slow(health);
    await_changes(1);
    EXPECT_NE(health.problem(), "");
    EXPECT_EQ(changes(), std::vector<bool>{false});
  }
  await_changes(2);
  EXPECT_EQ(health.problem(), "");
}

}  // namespace
}  // namespace zazen
