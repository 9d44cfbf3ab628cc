// DatasetUses: which datasets are in use, for the eviction (eviction.h), by what workers ask.
// The kernel has said whose worker it is.
//
// A miss of a program becomes a fill that its worker asks for: these move the idle clock, and
// of one user at most kMostFills in one look. So nobody makes the datasets of others idle
// faster than that.
//
// A hit makes no call. That a dataset is hit the users' counters tell (user_counters.h), which
// users can write. So they decide nothing: they say only whose workers are to be asked. A
// worker asks the origin whether its user may search the dataset's directory, and then says
// that the dataset is used. The clock moves by fills of the look before, so that a worker has
// a second for this. Thread safe.
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

  // zazend's own user is believed, and moves the clock by each fill.
  explicit DatasetUses(uid_t own_uid) : own_uid_(own_uid) {}

  // A worker of this user asks about the dataset, or says that it is used; `is_miss`: it asks
  // for a fill that a program wants.
  void note_ask(uid_t uid, std::uint32_t dataset, bool is_miss);

  struct Look {
    std::uint64_t fills = 0;          // between the two looks before
    std::vector<std::uint32_t> used;  // since the last one, each once
    // The users whose workers zazend asks, and about which datasets.
    std::map<uid_t, std::vector<std::uint32_t>> said;
  };
  // To be called about once a second. `hit`: datasets, and whose counters say so.
  Look look(const std::vector<std::pair<std::uint32_t, uid_t>>& hit);

 private:
  using Datasets = std::bitset<kMaxDatasets>;

  const uid_t own_uid_;
  std::mutex mutex_;
  std::map<uid_t, std::uint64_t> fills_;  // these two: since the last look
  Datasets used_;
  std::uint64_t next_fills_ = 0;
  Datasets known_;  // their use was told after the clock moved last
};

}  // namespace zazen
