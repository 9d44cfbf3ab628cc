#include "coord/job/shared_listings.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "coord/job/listing_keeper.h"
#include "coord/ranks/byte_stream.h"

namespace zazen {
namespace {

struct UnsharedListing {
  DatasetStart* dataset;
  bool is_here;
};

std::string value_or_throw(Result<std::string> bytes) {
  if (!bytes) throw std::runtime_error(bytes.error().message());
  return std::move(*bytes);
}

ListingAnswer answer_of(const UnsharedListing& asked) {
  const DatasetStart& dataset = *asked.dataset;
  if (asked.is_here) return {0, value_or_throw(dataset.listing->bytes())};
  Result<Listing> listing =
      list_directory(frame_directory(dataset.named.path, dataset.name), dataset.name);
  if (!listing) return {listing.error().code, {}};
  return {0, encode_listing(*listing)};
}

class SharedListings {
 public:
  SharedListings(JobRanks& all, const std::string& runtime)
      : all_(all), first_error_(all.first_error()), runtime_(runtime) {}

  std::optional<bool> share(std::span<DatasetStart> datasets) {
    std::vector<std::uint64_t> minima;
    std::vector<UnsharedListing> unshared;
    first_error_.local_step([&] {
      minima.assign(1 + 2 * datasets.size(), kNobody);
      unshared.reserve(datasets.size());
      for (std::size_t i = 0; i < datasets.size(); ++i) {
        if (!all_.is_leader()) datasets[i].listing.reset();
        minima[1 + 2 * i] = datasets[i].listing_checksum();
        minima[2 + 2 * i] = ~datasets[i].listing_checksum();
      }
    });
    // Without memory for them a rank cannot take part in a vote on them.
    if (!all_.vote() || !all_.vote(minima)) return std::nullopt;
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      const std::uint64_t least = minima[1 + 2 * i], greatest = ~minima[2 + 2 * i];
      if (datasets[i].state.code != 0 || (least == greatest && least != kNobody)) continue;
      unshared.push_back(
          {&datasets[i], least != kNobody && datasets[i].listing_checksum() == least});
    }
    const std::span holders = std::span(minima).first(unshared.size());
    for (std::size_t i = 0; i < unshared.size(); ++i)
      holders[i] = unshared[i].is_here ? static_cast<std::uint64_t>(all_.rank()) : kNobody;
    all_.world().all_min(holders);
    for (std::uint64_t& holder : holders)
      if (holder == kNobody) holder = 0;
    // One message from each rank that has some to give.
    for (std::uint64_t root = 0; root < static_cast<std::uint64_t>(all_.world().size()); ++root)
      if (std::ranges::find(holders, root) != holders.end())
        give(static_cast<int>(root), holders, unshared);
    return !unshared.empty();
  }

 private:
  // Collective.
  void give(int root, std::span<const std::uint64_t> holders,
            std::span<const UnsharedListing> unshared) {
    std::vector<UnsharedListing> given;
    std::string bytes;
    first_error_.local_step([&] {
      for (std::size_t i = 0; i < unshared.size(); ++i)
        if (holders[i] == static_cast<std::uint64_t>(root)) given.push_back(unshared[i]);
      if (all_.rank() != root) return;
      ByteWriter out;
      for (const UnsharedListing& each : given)
        out.text(encode_listing_answer(answer_of(each)));
      bytes = out.take();
    });
    first_error_.collective_step([&] { all_.world().broadcast(bytes, root); });
    first_error_.local_step([&] {
      ByteReader in(bytes);
      for (const auto& [dataset, is_here] : given) {
        std::string_view answer;
        if (!in.text(&answer, bytes.size())) throw std::runtime_error("communication failed");
        if (!is_here) take(*dataset, decode_listing_answer(std::string(answer)));
      }
    });
  }

  void take(DatasetStart& dataset, ListingAnswer answer) {
    dataset.listing.reset();
    dataset.state.code = answer.code;
    if (answer.code != 0) return;
    Result<PackedListing> listing = PackedListing::read(std::move(answer.listing));
    if (!listing) throw std::runtime_error(listing.error().message());
    dataset.listing = std::move(*listing);
    if (all_.is_leader() && dataset.own != nullptr)
      keeper_.keep(runtime_, dataset.named.path, *dataset.listing);
  }

  JobRanks& all_;
  FirstError& first_error_;
  const std::string& runtime_;
  ListingKeeper keeper_;
};

}  // namespace

std::optional<bool> share_listings(JobRanks& all, const std::string& runtime,
                                   std::span<DatasetStart> datasets) {
  return SharedListings(all, runtime).share(datasets);
}

}  // namespace zazen
