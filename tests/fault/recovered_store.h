// RecoveredStore: opens a store on what a crash left, and says what is wrong with it.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/disk/cache_disk.h"
#include "tests/fault/disk_change.h"
#include "tests/fault/origin_history.h"

namespace zazen {

// The answers that clients had when the crash came.
class Promises {
 public:
  void hear(const Word& word);
  using Frame = std::pair<std::uint32_t, FrameSeq>;
  const std::map<Frame, std::size_t>& stored() const { return stored_; }
  std::size_t oldest_allowed(const Frame& frame) const;

 private:
  std::map<Frame, std::size_t> stored_;  // natives, by version
  std::map<Frame, std::size_t> oldest_;  // no older version may be served
};

// Each line is a broken promise; none: all is well. `config` names the cache to look at.
std::vector<std::string> recover_and_check(const Config& config, const OriginHistory& origin,
                                           const Promises& promises,
                                           CacheDisk::Temporaries temporaries);

}  // namespace zazen
