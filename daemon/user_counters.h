// UserCounters: hits and misses of the programs of each user, where a daemon serves all of
// them.
//
// What a program counts in, it must be able to write to, and a file that somebody can write to
// he can also cut short, under everybody who maps it. So each user has a file of his own,
// <runtime>/users/UID, made by the daemon when it first meets the user, and owned by him: he
// can spoil only his own programs and figures. The daemon never maps it, it reads. Thread safe.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bodhi/result.h"
#include "bodhi/table.h"
#include "bodhi/unique_fd.h"

namespace zazen {

class UserCounters {
 public:
  static constexpr std::size_t kMostUsers = 1024;  // the others are not counted

  // Makes the directory, empty. The errors are whole sentences.
  static Result<std::unique_ptr<UserCounters>> make(const std::string& runtime);
  ~UserCounters();  // takes it away

  void add_user(uid_t uid);
  // The sum over all users.
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
  mutable std::mutex mutex_;
  std::map<uid_t, UniqueFd> files_;
};

}  // namespace zazen
