// A process that connects without end waits behind itself.
#include "daemon/threads/connection_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace zazen {
namespace {

constexpr std::size_t kNoLimit = 1'000'000;

// True: all have a place.
bool add(ConnectionQueue& queue, pid_t pid) {
  UniqueFd socket(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd refused = queue.add(socket, pid);
  EXPECT_FALSE(socket.valid());
  return !refused.valid();
}

std::vector<pid_t> order_of(ConnectionQueue& queue) {
  std::vector<pid_t> order;
  while (!queue.empty()) {
    EXPECT_TRUE(queue.front().socket.valid());
    order.push_back(queue.front().pid);
    queue.pop();
  }
  EXPECT_EQ(queue.size(), 0u);
  return order;
}

TEST(ConnectionQueue, ProcessesTakeTurns) {
  ConnectionQueue queue(kNoLimit);
  for (pid_t pid : {1, 1, 1, 2, 3, 2}) EXPECT_TRUE(add(queue, pid));
  EXPECT_EQ(order_of(queue), (std::vector<pid_t>{1, 2, 3, 1, 2, 1}));
}

TEST(ConnectionQueue, AProcessHasOnlySoManyWaiting) {
  ConnectionQueue queue(kNoLimit);
  for (std::size_t i = 0; i < ConnectionQueue::kMostOfAProcess; ++i) EXPECT_TRUE(add(queue, 1));
  EXPECT_FALSE(add(queue, 1));
  EXPECT_TRUE(add(queue, 2));
  EXPECT_EQ(queue.size(), ConnectionQueue::kMostOfAProcess + 1);
}

TEST(ConnectionQueue, AtTheLimitTheProcessWithMostLosesItsNewest) {
  ConnectionQueue queue(6);
  for (pid_t pid : {1, 1, 2, 2, 2, 2}) EXPECT_TRUE(add(queue, pid));
  EXPECT_FALSE(add(queue, 3));
  EXPECT_FALSE(add(queue, 2));
  EXPECT_FALSE(add(queue, 4));
  EXPECT_EQ(queue.size(), 6u);
  EXPECT_EQ(order_of(queue), (std::vector<pid_t>{1, 2, 3, 4, 1, 2}));
}

TEST(ConnectionQueue, AtTheLimitOfEqualsTheNewOneIsRefused) {
  ConnectionQueue queue(3);
  for (pid_t pid : {1, 2, 3}) EXPECT_TRUE(add(queue, pid));
  EXPECT_FALSE(add(queue, 4));
  EXPECT_EQ(order_of(queue), (std::vector<pid_t>{1, 2, 3}));
  ConnectionQueue none(0);
  EXPECT_FALSE(add(none, 1));
  EXPECT_TRUE(none.empty());
}

TEST(ConnectionQueue, AProcessIsDroppedWithAllThatWaits) {
  ConnectionQueue queue(kNoLimit);
  for (pid_t pid : {1, 2, 1, 1, 3, 2}) EXPECT_TRUE(add(queue, pid));
  queue.drop(1);
  queue.drop(77);
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(order_of(queue), (std::vector<pid_t>{2, 3, 2}));
}

TEST(ConnectionQueue, ProcessesThatCannotBeToldApartAreNotOne) {
  ConnectionQueue queue(kNoLimit);
  for (std::size_t i = 0; i < 2 * ConnectionQueue::kMostOfAProcess; ++i) {
    EXPECT_TRUE(add(queue, 0));
  }
}

}  // namespace
}  // namespace zazen
