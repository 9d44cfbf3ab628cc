// UserCounters: hits and misses of the programs of each user, where a daemon serves all of
// them.
//
// A program must be able to write to the file in which it counts. A user who can write to a
// file can also truncate it, and that ends all programs that map it. So each user has a file,
// <runtime>/users/UID, which the daemon makes when it first meets the user. The user owns it
// and can spoil only their own programs, worker and figures. The daemon never maps it, it
// reads. Thread safe.
//
// The figures are for `status`. No decision depends on them: of changes and hits they tell only
// whose workers have to be asked (worker/doubts.h, dataset_uses.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/table.h"

namespace zazen {

struct CounterValues {  // of Counters, at one time
  std::uint64_t magic;
  struct {
    std::uint64_t hits, misses;
  } datasets[kMaxDatasets];
  std::uint64_t untold_changes[kMaxDatasets];
};
static_assert(sizeof(CounterValues) == offsetof(Counters, news));

// The difference between two looks at counters. Of several users it is the sum.
struct CountedSince {
  struct Opens {
    std::uint32_t dataset = 0;
    std::uint64_t hits = 0, misses = 0;
  };
  std::vector<Opens> opens;  // of each user one for each of the following
  std::vector<std::pair<std::uint32_t, uid_t>> opened;  // datasets, and whose programs
  std::vector<std::pair<std::uint32_t, uid_t>> untold_changes;

  // A figure that went back has not moved.
  void add(const CounterValues& before, const CounterValues& now, uid_t uid);
};

class UserCounters {
 public:
  static constexpr std::size_t kMostUsers = 1024;  // the others are not counted

  // Makes the directory, empty. The errors are whole sentences.
  static Result<std::unique_ptr<UserCounters>> make(const std::string& runtime);
  ~UserCounters();  // takes it away

  // Unless there are so many users already.
  void add_user(uid_t uid, std::size_t most_users = kMostUsers);
  // Nobody reads the news of this user's programs.
  void note_unread(uid_t uid);
  // Since the last call.
  void count(CountedSince* out);
  // The sum over all users, as they say.
  struct Sum {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
  };
  Sum sum(std::uint32_t dataset) const;

 private:
  explicit UserCounters(UniqueFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  UniqueFd directory_;
  const std::string path_;
  struct User {
    UniqueFd file;
    std::unique_ptr<CounterValues> seen = std::make_unique<CounterValues>();
  };
  mutable std::mutex mutex_;
  std::map<uid_t, User> users_;
};

}  // namespace zazen
