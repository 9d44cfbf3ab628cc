#include "coord/division.h"

#include <optional>
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

bool divide(Gathering& all, ProtocolChoice choice, std::size_t domain,
            const std::function<void(Protocol&)>& look_up, Share* share) {
  Trouble& trouble = all.trouble();
  std::optional<Protocol> protocol;
  const bool leader = all.is_leader();
  if (leader)
    trouble.attempt([&] {
      std::vector<std::uint64_t> ranks;
      for (const std::vector<int>& group : all.groups().ranks) ranks.push_back(group.size());
      protocol.emplace(choice, domain, std::move(ranks));
      look_up(*protocol);
    });
  if (!all.vote()) return false;
  if (leader) trouble.together([&] { protocol->run(all.leaders()); });

  std::vector<std::string> parts;
  if (leader)
    trouble.attempt([&] {
      parts = deal(*protocol, all.groups().ranks[all.groups().group(all.rank())],
                   static_cast<std::size_t>(all.world().size()));
      share->adopted = protocol->residue_count();
    });
  std::string mine;
  trouble.together([&] { mine = all.node().scatter(parts, 0); });
  trouble.attempt([&] {
    Result<PackedSet> frames = PackedSet::decode(std::as_bytes(std::span(mine)), domain);
    if (!frames) throw std::runtime_error(frames.error().message());
    share->frames = std::move(*frames);
  });
  return true;
}

}  // namespace zazen
