// DatasetStart: what a rank knows of one dataset while the job starts.
#pragma once
#include <algorithm>
#include <optional>

#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/packed_listing.h"
#include "coord/protocol/division.h"
#include "coord/ranks/job_messages.h"
#include "coord/ranks/job_ranks.h"
#include "coord/sets/domain.h"

namespace zazen {

struct DatasetStart {
  NamedDataset named;
  FrameName name;                     // its template, compiled
  const TableDataset* own = nullptr;  // in this node's table; null: its daemon does not know it
  DirectoryState state;               // by rank 0's word
  DirectoryState here;                // as this rank finds it, or its node's leader
  std::optional<PackedListing> listing;
  Domain domain;
  Share share;

  // kNobody: there is no listing.
  std::uint64_t listing_checksum() const {
    return listing ? std::min(listing->checksum(), kNobody - 1) : kNobody;
  }
};

}  // namespace zazen
