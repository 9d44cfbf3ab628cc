#include "daemon/service/bytes_read.h"

#include <algorithm>
#include <limits>

namespace zazen {
namespace {

// A user can write anything into the own counters.
constexpr std::uint64_t kMostOpens = 100'000'000;

void add_product(std::uint64_t count, std::uint64_t size, std::uint64_t* sum) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(count, size, &product) ||
      __builtin_add_overflow(*sum, product, sum)) {
    *sum = std::numeric_limits<std::uint64_t>::max();
  }
}

}  // namespace

void BytesRead::note(const CountedSince& counted, const StoreUsage& held) {
  std::lock_guard lock(mutex_);
  for (const CountedSince::Opens& opens : counted.opens) {
    Dataset& dataset = datasets_[opens.dataset];
    dataset.hits += std::min(opens.hits, kMostOpens);
    dataset.misses += std::min(opens.misses, kMostOpens);
  }
  const std::size_t known = std::min(held.datasets.size(), datasets_.size());
  for (std::size_t i = 0; i < known; ++i) {
    const DatasetUsage& usage = held.datasets[i];
    const std::uint64_t copies = usage.natives + usage.aliens;
    if (copies == 0) continue;
    Dataset& dataset = datasets_[i];
    add_product(std::exchange(dataset.hits, 0), usage.bytes / copies, &dataset.read.cache);
    add_product(std::exchange(dataset.misses, 0), usage.bytes / copies, &dataset.read.origin);
  }
}

BytesRead::Figures BytesRead::of(std::uint32_t dataset) const {
  std::lock_guard lock(mutex_);
  return datasets_[dataset].read;
}

}  // namespace zazen
