#include "coord/protocol/division.h"

#include <stdexcept>

#include "coord/ranks/byte_stream.h"

namespace zazen {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A leader's message to the ranks of its node: for each rank a block of the node's frames of
// each dataset.
std::vector<std::string> deal(const Protocol& protocol, std::size_t datasets,
                              std::size_t ranks) {
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < ranks; ++r) {
    ByteWriter part;
    for (std::size_t d = 0; d < datasets; ++d) {
      const PackedSet& own = protocol.own(d);
      part.text(as_text(ranked_part(own, block_of(own.count(), r, ranks)).bytes()));
    }
    parts.push_back(part.take());
  }
  return parts;
}

}  // namespace

Division::Division(JobRanks& all, ProtocolChoice choice, std::vector<std::size_t> domains,
                   const std::function<void(Protocol&)>& look_up)
    : all_(&all), domains_(std::move(domains)) {
  if (!all.is_leader()) return;
  std::vector<std::uint64_t> ranks;
  for (const std::vector<int>& group : all.groups().ranks) ranks.push_back(group.size());
  protocol_.emplace(choice, domains_, std::move(ranks));
  look_up(*protocol_);
}

std::vector<Share> Division::run() {
  FirstError& first_error = all_->first_error();
  std::vector<Share> shares;
  std::vector<std::string> parts;
  if (protocol_) {
    first_error.collective_step([&] { protocol_->run(all_->leaders()); });
    first_error.local_step([&] {
      const NodeGroups& groups = all_->groups();
      parts =
          deal(*protocol_, domains_.size(), groups.ranks[groups.group(all_->rank())].size());
    });
  }
  std::string mine;
  first_error.collective_step([&] { mine = all_->node().scatter(parts, 0); });
  first_error.local_step([&] {
    ByteReader in(mine);
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      std::string_view part;
      if (!in.text(&part, mine.size())) throw std::runtime_error("communication failed");
      Result<PackedSet> frames = PackedSet::decode(std::as_bytes(std::span(part)), domains_[d]);
      if (!frames) throw std::runtime_error(frames.error().message());
      shares.push_back({std::move(*frames), protocol_ ? protocol_->residue_count(d) : 0});
    }
  });
  return shares;
}

}  // namespace zazen
