#include "coord/job/listing_keeper.h"

namespace zazen {
namespace {

constexpr int kTimeoutMs = 250;

}  // namespace

void ListingKeeper::keep(const std::string& runtime, const std::string& dataset,
                         const PackedListing& listing) {
  if (is_silent_ || !is_settled(listing.directory(), listing.taken_at_ns())) return;
  if (!daemon_) {
    Result<Client> client = Client::connect(runtime, kTimeoutMs);
    is_silent_ = !client;
    if (is_silent_) return;
    daemon_ = std::move(*client);
  }
  Result<std::string> bytes = listing.bytes();
  if (!bytes) return;
  const Status kept = daemon_->keep_listing(dataset, *bytes);
  is_silent_ = !kept && kept.error().code == ETIMEDOUT;
}

}  // namespace zazen
