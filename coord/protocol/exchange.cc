// Runs the four steps; the steps themselves are pure.
#include "coord/protocol/exchange.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "coord/protocol/quotas.h"
#include "coord/protocol/slice_owner.h"
#include "coord/ranks/message_bundle.h"
#include "coord/sets/packed_set_update.h"

namespace zazen {
namespace {

// The numbers of a dataset that are summed: the wins of each node, the residues of each slice,
// which nodes can cache, and the number of lost claims.
struct Counters {
  Counters(std::span<std::uint64_t> all, std::size_t dataset, std::size_t nodes)
      : wins(all.subspan(dataset * size(nodes), nodes)),
        residues(all.subspan(dataset * size(nodes) + nodes, nodes)),
        caches(all.subspan(dataset * size(nodes) + 2 * nodes, nodes)),
        lost(all[dataset * size(nodes) + 3 * nodes]) {}
  static std::size_t size(std::size_t nodes) { return 3 * nodes + 1; }

  std::uint64_t residue_count() const {
    return std::accumulate(residues.begin(), residues.end(), std::uint64_t{0});
  }
  bool has_exceptions() const { return lost != 0 || residue_count() != 0; }

  std::span<std::uint64_t> wins;
  std::span<std::uint64_t> residues;
  std::span<std::uint64_t> caches;
  std::uint64_t& lost;
};

// The messages between the nodes about all datasets, in one operation.
class NodeMessages {
 public:
  // Collective. `message(d, n)` is the message to node n about dataset d.
  template <class Message>
  NodeMessages(Communicator& leaders, FirstError& first_error, std::size_t datasets,
               Message&& message) {
    const auto nodes = static_cast<std::size_t>(leaders.size());
    std::vector<MessagePair> to;
    first_error.local_step([&] {
      for (std::size_t n = 0; n < nodes; ++n) {
        std::vector<MessagePair> messages;
        for (std::size_t d = 0; d < datasets; ++d) messages.push_back(message(d, n));
        to.push_back(
            sent_.emplace_back(messages).message());  // their bytes stay where they are
      }
    });
    if (first_error.any()) to.clear();
    first_error.collective_step([&] { delivery_ = leaders.all_to_all(to); });
    first_error.local_step([&] {
      if (delivery_.messages().size() != nodes)
        throw std::runtime_error("communication failed");
      from_.resize(datasets);
      for (const MessagePair& bundle : delivery_.messages()) {
        const std::vector<MessagePair> messages = unbundle(bundle, datasets);
        for (std::size_t d = 0; d < datasets; ++d) from_[d].push_back(messages[d]);
      }
    });
  }

  // The messages about the dataset, by node; complete if there is no trouble.
  std::span<const MessagePair> from(std::size_t dataset) const { return from_[dataset]; }

 private:
  std::vector<MessageBundle> sent_;
  Delivery delivery_;
  std::vector<std::vector<MessagePair>> from_;
};

void demand(bool sensible) {
  if (!sensible) throw std::runtime_error("another node's verdict is malformed");
}

bool same(const PackedChunk& a, const PackedChunk& b) {
  return a.form == b.form && a.count == b.count && std::ranges::equal(a.payload, b.payload);
}

// Few frames of the node change, and it loses only aliens.
bool are_few(const PackedChunk& alien, const PackedChunk& lost, const PackedChunk& adopted) {
  return is_sparse(alien) && is_sparse(adopted) &&
         (lost.form == ChunkForm::kPart || lost.form == ChunkForm::kEmpty);
}

}  // namespace

PackedSet apply_verdicts(PackedSet natives, const PackedSet& aliens,
                         std::span<const MessagePair> verdicts) {
  const bool changed = std::ranges::any_of(verdicts, [](const MessagePair& verdict) {
    return !verdict.first.empty() || !verdict.second.empty();
  });
  if (!changed && aliens.count() == 0) return natives;

  const std::size_t domain = natives.domain();
  PackedSetUpdate own(std::move(natives));
  ChunkWords aliens_here, lost_here, adopted_here;
  std::vector<std::uint16_t> few_aliens, few_adopted;
  for (std::size_t owner = 0; owner < verdicts.size(); ++owner) {
    PackedReader losses(verdicts[owner].first), adoptions(verdicts[owner].second);
    const Block slice = slice_of(domain, owner, verdicts.size());
    for (std::size_t c = slice.begin; c < slice.end; ++c) {
      const std::size_t limit = aliens.chunk_limit(c);
      const PackedChunk native = own.next(), alien = aliens.chunk(c);
      PackedChunk lost, adopted;
      demand(losses.next(limit, &lost) && adoptions.next(limit, &adopted));
      if (adopted.count == 0 &&
          ((lost.count == 0 && alien.count == 0) || (native.count == 0 && same(lost, alien))))
        own.keep();
      else if (are_few(alien, lost, adopted))
        demand(read_positions(alien, limit, &few_aliens) && part_is_sound(lost, alien.count) &&
               read_positions(adopted, limit, &few_adopted) &&
               own.change(few_aliens, lost.payload, few_adopted));
      else
        demand(read_chunk(alien, limit, &aliens_here) &&
               read_part(lost, limit, alien, &lost_here) &&
               read_chunk(adopted, limit, &adopted_here) &&
               own.change(aliens_here, lost_here, adopted_here));
    }
    demand(losses.done() && adoptions.done());
  }
  return own.take();
}

ExchangeProtocol::ExchangeProtocol(std::vector<NodeHoldings> holdings,
                                   std::vector<std::uint64_t> ranks)
    : ranks_(std::move(ranks)), counters_(holdings.size() * Counters::size(ranks_.size()) + 1) {
  for (NodeHoldings& held : holdings) datasets_.push_back({std::move(held)});
}

void ExchangeProtocol::run(Communicator& leaders, FirstError first_error) {
  const auto me = static_cast<std::size_t>(leaders.rank());
  const std::size_t nodes = ranks_.size();
  auto counters = [&](std::size_t d) { return Counters(counters_, d, nodes); };
  std::uint64_t& troubles = counters_.back();
  std::vector<SliceVerdicts> slices;

  {  // Step 1: the claims.
    const NodeMessages claims(leaders, first_error, datasets_.size(),
                              [&](std::size_t d, std::size_t n) -> MessagePair {
                                const NodeHoldings& held = datasets_[d].held;
                                const Block slice = slice_of(held.natives.domain(), n, nodes);
                                return {held.natives.bytes(slice), held.aliens.bytes(slice)};
                              });
    // Step 2: the slices of this node.
    first_error.local_step([&] {
      for (std::size_t d = 0; d < datasets_.size(); ++d) {
        std::vector<Claims> here;
        for (const MessagePair& message : claims.from(d))
          here.push_back({message.first, message.second});
        const std::size_t domain = datasets_[d].held.natives.domain();
        SliceOwner owner(slice_frames(domain, slice_of(domain, me, nodes)), me, ranks_);
        owner.decide(here);
        // Without the owner's rows, which take at least 16 KB for each node.
        const SliceVerdicts& slice =
            slices.emplace_back(std::move(static_cast<SliceVerdicts&>(owner)));
        Counters mine = counters(d);
        std::ranges::copy(slice.wins(), mine.wins.begin());
        mine.residues[me] = slice.residue_count();
        mine.caches[me] = datasets_[d].held.can_cache ? 1 : 0;
        mine.lost = slice.lost_count();
      }
    });
  }

  // Step 3: the sum for all nodes.
  troubles = first_error.any() ? 1 : 0;
  leaders.all_sum(counters_);
  if (troubles != 0)
    throw std::runtime_error(first_error.any() ? first_error.text()
                                               : "another node is in trouble");
  bool exceptions = false;
  for (std::size_t d = 0; d < datasets_.size(); ++d) {
    datasets_[d].residue_count = counters(d).residue_count();
    exceptions = exceptions || counters(d).has_exceptions();
  }

  // Step 4: the exceptions, if there are any. The caller handles nodes that fail from here on.
  std::vector<std::vector<PackedSet>> adopted;  // by dataset and node
  std::optional<NodeMessages> verdicts;
  if (exceptions) {
    first_error.local_step([&] {
      for (std::size_t d = 0; d < datasets_.size(); ++d) {
        const Counters all = counters(d);
        std::vector<std::uint64_t> quotas(nodes);
        fill_quotas(all.wins, ranks_, all.caches, all.residue_count(), quotas);
        const std::uint64_t before = std::accumulate(
            all.residues.begin(), all.residues.begin() + leaders.rank(), std::uint64_t{0});
        adopted.emplace_back();
        for (std::size_t n = 0; n < nodes; ++n)
          adopted[d].push_back(slices[d].adopted(n, before, quotas));
      }
    });
    verdicts.emplace(leaders, first_error, datasets_.size(),
                     [&](std::size_t d, std::size_t n) -> MessagePair {
                       if (!counters(d).has_exceptions()) return {};
                       return {slices[d].lost(n).bytes(), adopted[d][n].bytes()};
                     });
  }
  first_error.local_step([&] {
    const std::vector<MessagePair> none(nodes);
    for (std::size_t d = 0; d < datasets_.size(); ++d)
      datasets_[d].own =
          apply_verdicts(std::move(datasets_[d].held.natives), datasets_[d].held.aliens,
                         verdicts ? verdicts->from(d) : std::span<const MessagePair>(none));
  });
  if (first_error.any()) throw std::runtime_error(first_error.text());
}

}  // namespace zazen
