#include "preload/trace/figures.h"

#include "preload/trace/tracing.h"

namespace zazen::trace {
namespace {

constexpr std::size_t kMaxProbes = 64;

constinit Site* sites = nullptr;

bool take(Site& site, std::uintptr_t address) {
  std::uintptr_t found = site.return_address.load(std::memory_order_relaxed);
  if (found == address) return true;
  return found == 0 &&
         (site.return_address.compare_exchange_strong(found, address) || found == address);
}

}  // namespace

bool make_sites() {
  sites = static_cast<Site*>(zeroed_pages(kMaxSites * sizeof(Site)));
  return sites != nullptr;
}

void forget_sites() {
  ::madvise(sites, kMaxSites * sizeof(Site), MADV_DONTNEED);
}

// The last slot is shared by call sites that find no other.
Site& site_at(std::uintptr_t return_address) {
  constexpr std::size_t kLast = kMaxSites - 1;
  std::size_t first = (return_address * 0x9e3779b97f4a7c15) >> 40;
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    Site& site = sites[(first + probe) % kLast];
    if (take(site, return_address)) return site;
  }
  sites[kLast].return_address.store(kUnknownSite, std::memory_order_relaxed);
  return sites[kLast];
}

const Site* all_sites() {
  return sites;
}

}  // namespace zazen::trace
