// Queues whose threads the system refuses for a while. The refusals are real: the default stack
// of a new thread is larger than the address space.
#include "daemon/threads/work_queue.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <system_error>

#include "daemon/threads/origin_threads.h"

namespace zazen {
namespace {

class NoThreads {
 public:
  NoThreads() {
    WorkQueue of_the_start(1);  // which also makes the thread that tries again
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    ::pthread_getattr_default_np(&huge);
    ::pthread_attr_setstacksize(&huge, std::size_t{1} << 48);
    EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
    ::pthread_attr_destroy(&huge);
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  }
  ~NoThreads() {
    EXPECT_EQ(::pthread_setattr_default_np(&before_), 0);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST(WorkQueueTest, AtTheStartARefusalIsAnException) {
  NoThreads refused;
  EXPECT_THROW(WorkQueue queue(2), std::system_error);
  WorkQueue on_demand(WorkQueue::OnDemand{2});
}

TEST(WorkQueueTest, WorkWaitsForTheThreadsThereAre) {
  WorkQueue queue(1);
  NoThreads refused;
  std::atomic<int> done = 0;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.post([&] { ++done; }));
  EXPECT_TRUE(queue.stop(WorkQueue::kForEver, WorkQueue::Queued::kDone));
  EXPECT_EQ(done, 10);
}

TEST(WorkQueueTest, WorkIsDoneOnceAThreadCanBeHad) {
  std::promise<void> reached;
  WorkQueue queue(WorkQueue::OnDemand{2});
  {
    NoThreads refused;
    EXPECT_TRUE(queue.post([&] { reached.set_value(); }));
  }
  // Nobody posts anything more.
  EXPECT_EQ(reached.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST(WorkQueueTest, OneThatHangsKeepsNobodyWaitingOnceAThreadCanBeHad) {
  std::promise<void> gate, begun, reached;
  std::shared_future<void> open = gate.get_future().share();
  WorkQueue queue(WorkQueue::OnDemand{3});
  queue.post([&] {
    begun.set_value();
    open.wait();
  });
  begun.get_future().wait();
  {
    NoThreads refused;
    queue.post([open] { open.wait(); });
    queue.post([&] { reached.set_value(); });
  }
  EXPECT_EQ(reached.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  gate.set_value();
}

TEST(WorkQueueTest, WhatNeverGotAThreadEndsWithTheQueue) {
  NoThreads refused;
  bool done = false;
  {
    WorkQueue queue(WorkQueue::OnDemand{2});
    queue.post([&] { done = true; });
  }
  EXPECT_FALSE(done);
}

TEST(WorkQueueTest, WorkWithoutMemoryOrThreadEndsAloneAndTheQueueGoesOn) {
  WorkQueue queue(1);
  int done = 0;
  queue.post([] { throw std::bad_alloc(); });
  queue.post([] { throw std::system_error(EAGAIN, std::system_category()); });
  queue.post([&] { ++done; });
  EXPECT_TRUE(queue.stop(WorkQueue::kForEver, WorkQueue::Queued::kDone));
  EXPECT_EQ(done, 1);
}

TEST(WorkQueueTest, LanesWaitForThreadsToo) {
  OriginThreads lanes(2);
  std::promise<void> reached;
  {
    NoThreads refused;
    EXPECT_TRUE(lanes.post(7, [&] { reached.set_value(); }));
  }
  EXPECT_EQ(reached.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace zazen
