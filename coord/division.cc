#include "coord/division.h"

#include <stdexcept>

namespace zazen {
namespace {

PackedSet together(const PackedSet& a, const PackedSet& b) {
  Bitmap bits(a.domain());
  for (const PackedSet* set : {&a, &b}) set->for_each([&](std::size_t i) { bits.set(i); });
  return PackedSet::pack(bits);
}

// A leader's word to the ranks of its node: for each a block of the node's own frames, and
// the block of the residues that belongs to its rank among all.
std::vector<std::string> deal(const Protocol& protocol, const std::vector<int>& ranks,
                              std::size_t all_ranks) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    auto part_of = [](const PackedSet& set, std::size_t number, std::size_t of) {
      return ranked_part(set, block_of(set.count(), number, of));
    };
    PackedSet part = part_of(protocol.own(), k, ranks.size());
    if (protocol.residues().count() != 0)
      part = together(
          part, part_of(protocol.residues(), static_cast<std::size_t>(ranks[k]), all_ranks));
    parts.emplace_back(reinterpret_cast<const char*>(part.bytes().data()), part.bytes().size());
  }
  return parts;
}

}  // namespace

Division::Division(Gathering& all, ProtocolChoice choice, std::size_t domain,
                   const std::function<void(Protocol&)>& look_up)
    : all_(&all), domain_(domain) {
  if (!all.is_leader()) return;
  std::vector<std::uint64_t> ranks;
  for (const std::vector<int>& group : all.groups().ranks) ranks.push_back(group.size());
  protocol_.emplace(choice, domain, std::move(ranks));
  look_up(*protocol_);
}

Share Division::run() {
  Trouble& trouble = all_->trouble();
  Share share;
  std::vector<std::string> parts;
  if (protocol_) {
    trouble.together([&] { protocol_->run(all_->leaders()); });
    trouble.attempt([&] {
      parts = deal(*protocol_, all_->groups().ranks[all_->groups().group(all_->rank())],
                   static_cast<std::size_t>(all_->world().size()));
      share.adopted = protocol_->residue_count();
    });
  }
  std::string mine;
  trouble.together([&] { mine = all_->node().scatter(parts, 0); });
  trouble.attempt([&] {
    Result<PackedSet> frames = PackedSet::decode(std::as_bytes(std::span(mine)), domain_);
    if (!frames) throw std::runtime_error(frames.error().message());
    share.frames = std::move(*frames);
  });
  return share;
}

}  // namespace zazen
