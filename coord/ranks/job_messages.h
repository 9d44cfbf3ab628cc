// The messages of the ranks while they agree. Each rank introduces itself. Rank 0 adds the
// datasets, the state of their directories, and the identity of the job. decode_... throw
// std::runtime_error if the bytes are malformed.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/listing.h"
#include "coord/sets/domain.h"
#include "coord/settings.h"

namespace zazen {

struct JobIdentity {            // by which the files of the ranks are matched later
  std::uint64_t id = 0;         // random
  std::int64_t started_ns = 0;  // since 1970
  bool operator==(const JobIdentity&) const = default;
};
JobIdentity new_job_identity();

struct Member {  // the node of a rank; a rank without a daemon is none
  bool has_daemon;
  NodeId node;
};

struct Introduction {
  Member member;
  std::string node_name;
  FilterWish filter;
  bool has_ledger;
  ProtocolChoice protocol = ProtocolChoice::kExchange;  // rank 0's counts
  Selection selection = {};                             // the same
  FilterMode expected = FilterMode::kOff;               // of this job, as far as the rank knows
  std::string expected_paths = {};
  std::string opening = {};           // rank 0's: the job's
  std::uint64_t run = 0;              // as in RankPlace
  std::uint64_t mount_namespace = 0;  // 0: not known
};
std::string encode_introduction(const Introduction& introduction);
Introduction decode_introduction(const std::string& bytes);

struct NamedDataset {
  std::string path;
  std::string frames;
  FilterMode filter = FilterMode::kOn;  // kRequire: by its key, or by ZAZEN_FILTER
  AuditMode audit = AuditMode::kFail;
  bool operator==(const NamedDataset&) const = default;
};
struct DirectoryState {
  int code = 0;  // 0 or an errno
  DirectoryIdentity identity;
};

struct Opening {
  std::vector<NamedDataset> datasets;  // that are to be filtered
  std::vector<DirectoryState> states;  // their states
  JobIdentity job;
};
std::string encode_opening(const Opening& opening);
Opening decode_opening(const std::string& bytes);

// From a rank with a daemon, if rank 0 has none.
std::string encode_datasets(std::span<const NamedDataset> datasets);
std::vector<NamedDataset> decode_datasets(const std::string& bytes);

// An encoded listing, or the errno that explains why there is none.
struct ListingAnswer {
  int code = 0;
  std::string listing;
};
std::string encode_listing_answer(const ListingAnswer& answer);
ListingAnswer decode_listing_answer(const std::string& bytes);

}  // namespace zazen
