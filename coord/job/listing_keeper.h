// ListingKeeper: passes listings to this node's daemon, so that the next job need not list.
//
// Best effort, over one connection. A daemon that does not answer costs 250 ms, once.
#pragma once
#include <optional>
#include <string>

#include "bodhi/node/client.h"
#include "bodhi/node/packed_listing.h"

namespace zazen {

class ListingKeeper {
 public:
  void keep(const std::string& runtime, const std::string& dataset,
            const PackedListing& listing);

 private:
  std::optional<Client> daemon_;
  bool is_silent_ = false;
};

}  // namespace zazen
