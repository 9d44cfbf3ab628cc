// What came of pushes over the network, for the status.
#pragma once
#include <atomic>
#include <cstdint>

namespace zazen {

struct PushCounts {
  std::atomic<std::uint64_t> connections = 0;  // at present, of writers that were let in
  std::atomic<std::uint64_t> refused = 0;      // that were not, or that broke the rules
  std::atomic<std::uint64_t> frames = 0;       // durable here, as the writers were told
  std::atomic<std::uint64_t> failed = 0;       // pushes answered with an errno
  std::atomic<std::uint64_t> bytes = 0;        // of content, whatever came of it
  // A replaced key is still taken until then, in seconds since 1970; 0: there is none.
  std::atomic<std::int64_t> old_key_until = 0;
};

}  // namespace zazen
