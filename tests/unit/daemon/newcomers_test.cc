// Whoever connects without end waits behind himself.
#include "daemon/worker/newcomers.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace zazen {
namespace {

constexpr uid_t kFlooder = 1000, kOther = 1001;

Newcomer newcomer(uid_t uid, pid_t pid) {
  return {UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), uid, pid};
}

std::vector<pid_t> order_of(Newcomers& newcomers) {
  std::vector<pid_t> order;
  while (std::optional<Newcomer> one = newcomers.next()) {
    EXPECT_TRUE(one->socket.valid());
    order.push_back(one->pid);
  }
  EXPECT_EQ(newcomers.size(), 0u);
  return order;
}

TEST(Newcomers, AnotherUserIsNextAfterOneOfTheFlood) {
  Newcomers newcomers;
  for (pid_t pid = 1; pid <= 500; ++pid) newcomers.add(newcomer(kFlooder, pid), std::nullopt);
  newcomers.add(newcomer(kOther, 9999), std::nullopt);
  EXPECT_EQ(newcomers.next()->uid, kFlooder);
  EXPECT_EQ(newcomers.next()->uid, kOther);
}

TEST(Newcomers, ProcessesOfAUserTakeTurns) {
  Newcomers newcomers;
  for (int i = 0; i < 3; ++i) newcomers.add(newcomer(kFlooder, 1), std::nullopt);
  newcomers.add(newcomer(kFlooder, 2), std::nullopt);
  newcomers.add(newcomer(kFlooder, 3), std::nullopt);
  newcomers.add(newcomer(kFlooder, 2), std::nullopt);
  EXPECT_EQ(order_of(newcomers), (std::vector<pid_t>{1, 2, 3, 1, 2, 1}));
}

TEST(Newcomers, AProcessHasOnlySoManyWaiting) {
  Newcomers newcomers;
  for (std::size_t i = 0; i < Newcomers::kMostOfAProcess; ++i) {
    EXPECT_TRUE(newcomers.add(newcomer(kFlooder, 1), std::nullopt));
  }
  EXPECT_FALSE(newcomers.add(newcomer(kFlooder, 1), std::nullopt));
  EXPECT_TRUE(newcomers.add(newcomer(kFlooder, 2), std::nullopt));
  EXPECT_EQ(newcomers.size(), Newcomers::kMostOfAProcess + 1);
}

TEST(Newcomers, AUserHasOnlySoManyWaitingWhateverTheProcesses) {
  Newcomers newcomers;
  for (pid_t pid = 1; pid <= 10; ++pid) {
    EXPECT_EQ(newcomers.add(newcomer(kFlooder, pid), 4), pid <= 4) << pid;
  }
  EXPECT_TRUE(newcomers.add(newcomer(kOther, 11), 4));
  EXPECT_EQ(order_of(newcomers), (std::vector<pid_t>{1, 11, 2, 3, 4}));
}

TEST(Newcomers, AProcessIsDismissedWithAllThatWaits) {
  Newcomers newcomers;
  for (pid_t pid : {1, 2, 1, 1, 2}) newcomers.add(newcomer(kFlooder, pid), std::nullopt);
  newcomers.add(newcomer(kOther, 3), std::nullopt);
  newcomers.dismiss(kFlooder, 1);
  newcomers.dismiss(kFlooder, 77);
  newcomers.dismiss(kOther, 1);
  EXPECT_EQ(newcomers.size(), 3u);
  EXPECT_EQ(order_of(newcomers), (std::vector<pid_t>{2, 3, 2}));
  newcomers.add(newcomer(kOther, 3), std::nullopt);
  newcomers.dismiss(kOther, 3);
  EXPECT_FALSE(newcomers.next().has_value());
}

TEST(Newcomers, ProcessesThatCannotBeToldApartAreNotOne) {
  Newcomers newcomers;
  for (std::size_t i = 0; i < 2 * Newcomers::kMostOfAProcess; ++i) {
    EXPECT_TRUE(newcomers.add(newcomer(kFlooder, 0), std::nullopt));
  }
}

}  // namespace
}  // namespace zazen
