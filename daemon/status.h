// The daemon's status as JSON text, for `zazenctl status`.
#pragma once
#include <string>

#include "bodhi/config.h"
#include "daemon/filler.h"
#include "daemon/own_writer.h"
#include "daemon/peer_changes.h"
#include "daemon/publisher.h"
#include "daemon/push_counts.h"
#include "daemon/store.h"
#include "daemon/sweep.h"
#include "daemon/written_frames.h"

namespace zazen {

std::string status_json(const Config& config, const Store& store, const Publisher& publisher,
                        Filler& filler, const PushCounts& pushes, const SweepProgress& sweep,
                        const WrittenFrames& written, OwnWriter& writer,
                        const PeerChanges& changes, std::int64_t uptime_seconds,
                        std::uint64_t copies_read);

// What a person should look at, one phrase each; empty if all is well.
std::vector<std::string> find_problems(const Config& config, OriginThreads& origins);

}  // namespace zazen
