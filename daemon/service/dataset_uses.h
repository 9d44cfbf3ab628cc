// DatasetUses: which datasets are in use, for the eviction (eviction.h), by what workers ask.
// The kernel has said whose worker it is.
//
// A miss of a program becomes a fill that its worker asks for: these move the idle clock, and
// of one user at most kMostFills in one look. So nobody makes the datasets of others idle
// faster than that, and what users write into their counters (user_counters.h) has no part in
// it.
//
// A hit makes no call. That a dataset is hit the counters tell, which users can write. So hits
// count as a use only of datasets of which this user's worker has asked something: it has seen
// then that the user reaches them. A user who writes false figures there claims no more than
// what one open in a second would do. Thread safe.
#pragma once
#include <bitset>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

class DatasetUses {
 public:
  static constexpr std::uint64_t kMostFills = 64;   // of a user, in one look
  static constexpr std::size_t kMostUsers = 1'024;  // the others move nothing

  // zazend's own user moves the clock by each fill.
  explicit DatasetUses(uid_t own_uid) : own_uid_(own_uid) {}

  // A worker of this user asks about the dataset; `is_miss`: for a fill that a program wants.
  void note_ask(uid_t uid, std::uint32_t dataset, bool is_miss);

  struct Since {
    std::uint64_t fills = 0;
    std::vector<std::uint32_t> used;  // each once
  };
  // Since the last call. `hit`: datasets, and whose programs say so.
  Since take(const std::vector<std::pair<std::uint32_t, uid_t>>& hit);

 private:
  const uid_t own_uid_;
  std::mutex mutex_;
  struct User {
    std::uint64_t fills = 0;  // since the last call
    std::bitset<kMaxDatasets> has_asked;
  };
  std::map<uid_t, User> users_;
  std::bitset<kMaxDatasets> used_;  // since the last call
};

}  // namespace zazen
