// The daemon's status as JSON text, for `zazenctl status`.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/changes/peer_changes.h"
#include "daemon/link/link_messages.h"
#include "daemon/origin/trust.h"
#include "daemon/service/bytes_read.h"
#include "daemon/service/publisher.h"
#include "daemon/service/read_order.h"
#include "daemon/service/store_cache.h"
#include "daemon/store/store.h"
#include "daemon/validation/sweep.h"

namespace zazen {

class Reload;

void add_figures(const WorkerFigures& more, WorkerFigures* sum);

struct PushOutcomes {  // of pushes over the network
  std::atomic<std::uint64_t> durable = 0, failed = 0;
};

struct StatusFacts {
  const Config& config;
  const Store& store;
  const Publisher& publisher;
  const Trust& trust;
  const FillCounts& fills;
  const WorkerFigures& workers;  // of all together
  std::size_t worker_count;
  const PushOutcomes& pushes;
  std::int64_t old_key_until;  // a replaced key is still taken; 0: there is none
  const SweepProgress& sweep;
  const PeerChanges& changes;
  std::int64_t uptime_seconds;
  const ReadOrder& reads;
  const BytesRead& bytes_read;
  const Reload& reload;
  OriginFindings origins;  // as the user who asks sees them
  std::string poor_place;  // what speaks against the place of the cache, or ""
};
std::string status_json(StatusFacts facts);

}  // namespace zazen
