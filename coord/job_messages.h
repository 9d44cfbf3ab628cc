// What the ranks tell each other while they agree: who they are, which datasets there are,
// and in which state rank 0 found their directories. decode_... throw std::runtime_error on
// anything malformed.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "bodhi/listing.h"
#include "coord/domain.h"
#include "coord/node_groups.h"
#include "coord/settings.h"

namespace zazen {

struct Introduction {
  Member member;
  std::string node_name;
  bool filter_off;  // ZAZEN_FILTER=off
  bool has_ledger;
  ProtocolChoice protocol = ProtocolChoice::kExchange;  // that of rank 0 counts
  Selection selection = {};                             // the same
};
std::string encode_introduction(const Introduction& introduction);
Introduction decode_introduction(const std::string& bytes);

struct NamedDataset {
  std::string path;
  std::string frames;
};
std::string encode_datasets(std::span<const NamedDataset> datasets);
std::vector<NamedDataset> decode_datasets(const std::string& bytes);

struct DirectoryState {
  int code = 0;  // 0 or an errno
  DirectoryIdentity identity;
};
std::string encode_states(std::span<const DirectoryState> states);
std::vector<DirectoryState> decode_states(const std::string& bytes, std::size_t count);

// An encoded listing, or the errno of why there is none.
struct ListingAnswer {
  int code = 0;
  std::string listing;
};
std::string encode_listing_answer(const ListingAnswer& answer);
ListingAnswer decode_listing_answer(const std::string& bytes);

}  // namespace zazen
