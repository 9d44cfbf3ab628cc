// BytesRead: about how many bytes of each dataset programs have read from the cache, and from
// the origin. Programs count their opens, and no bytes: each open counts as the mean size of
// the dataset's copies at that time. Thread safe.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include "daemon/service/user_counters.h"
#include "daemon/store/store.h"

namespace zazen {

class BytesRead {
 public:
  struct Figures {
    std::uint64_t cache = 0, origin = 0;
  };

  // To be called about once a second. Opens of a dataset whose sizes are not known yet wait.
  void note(const CountedSince& counted, const StoreUsage& held);
  Figures of(std::uint32_t dataset) const;

 private:
  struct Dataset {
    std::uint64_t hits = 0, misses = 0;  // that wait
    Figures read;
  };
  mutable std::mutex mutex_;
  std::array<Dataset, kMaxDatasets> datasets_ = {};
};

}  // namespace zazen
