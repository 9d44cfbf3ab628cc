// The effects of a user's writes to their own counters.
#include "daemon/service/user_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class UserCountersTest : public Scratch {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<UserCounters>> made = UserCounters::make(directory());
    ASSERT_TRUE(made.ok());
    counters_ = std::move(*made);
    counters_->add_user(::geteuid());
    file_ = UniqueFd(::open(path().c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(file_.valid());
  }
  std::string path() const {
    return directory() + "/" + kUserCountersDirectory + "/" + std::to_string(::geteuid());
  }
  void write() {
    ASSERT_EQ(::pwrite(file_.get(), &values_, sizeof values_, 0),
              static_cast<ssize_t>(sizeof values_));
  }
  CountedSince count() {
    CountedSince counted;
    counters_->count(&counted);
    return counted;
  }
  // That this user says of these datasets.
  static std::vector<std::pair<std::uint32_t, uid_t>> of(std::vector<std::uint32_t> datasets) {
    std::vector<std::pair<std::uint32_t, uid_t>> said;
    for (std::uint32_t dataset : datasets) said.emplace_back(dataset, ::geteuid());
    return said;
  }

  std::unique_ptr<UserCounters> counters_;
  UniqueFd file_;
  CounterValues values_ = {};
};

TEST_F(UserCountersTest, DatasetsThatAreOpenedAreToldOnce) {
  values_.datasets[3] = {7, 2};
  write();
  EXPECT_EQ(count().opened, of({3}));
  EXPECT_TRUE(count().opened.empty());
  EXPECT_EQ(counters_->sum(3).hits, 7u);
}

TEST_F(UserCountersTest, TheLargestFiguresAreNoOthers) {
  values_.datasets[0] = {kMost, kMost};
  values_.datasets[1] = {1'000'000, 5};
  write();
  EXPECT_EQ(count().opened, of({0, 1}));
  EXPECT_EQ(counters_->sum(0).misses, kMost);
}

TEST_F(UserCountersTest, FiguresThatGoBackMoveNothing) {
  values_.datasets[0] = {100, 100};
  write();
  count();
  values_.datasets[0] = {5, 0};
  write();
  EXPECT_TRUE(count().opened.empty());
  values_.datasets[0] = {6, 0};
  write();
  EXPECT_EQ(count().opened, of({0}));
}

TEST_F(UserCountersTest, FileThatWasCutShortSaysNothing) {
  values_.datasets[0] = {100, 100};
  write();
  ASSERT_EQ(::ftruncate(file_.get(), 100), 0);
  EXPECT_TRUE(count().opened.empty());
}

TEST_F(UserCountersTest, ChangesThatCouldNotBeToldAreFound) {
  values_.untold_changes[2] = 1;
  write();
  EXPECT_EQ(count().untold_changes, of({2}));
  EXPECT_TRUE(count().untold_changes.empty());
}

}  // namespace
}  // namespace zazen
