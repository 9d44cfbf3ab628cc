// The driver of the four steps; the steps themselves are pure.
#include "coord/exchange.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "coord/quotas.h"
#include "coord/set_revision.h"
#include "coord/slice_owner.h"

namespace zazen {
namespace {

// The numbers that are summed: the wins of each node, the residues of each slice, all claims
// lost, and how many nodes are in trouble.
struct Counters {
  explicit Counters(std::span<std::uint64_t> all)
      : wins(all.first((all.size() - 2) / 2)),
        residues(all.subspan(wins.size(), wins.size())),
        lost(all[2 * wins.size()]),
        troubles(all[2 * wins.size() + 1]) {}
  std::span<std::uint64_t> wins;
  std::span<std::uint64_t> residues;
  std::uint64_t& lost;
  std::uint64_t& troubles;
};

void demand(bool sensible) {
  if (!sensible) throw std::runtime_error("another node's verdict is malformed");
}

// Frames of a chunk up to which lists of them are faster than its words: 3.3 ns for each, with
// words 3.6 us for the chunk and 1.5 ns for each.
constexpr std::size_t kFewFrames = 2048;
static_assert(kFewFrames <= kFewMembers);

bool same(const PackedChunk& a, const PackedChunk& b) {
  return a.form == b.form && a.count == b.count && std::ranges::equal(a.payload, b.payload);
}

bool are_sparse(const PackedChunk& native, const PackedChunk& alien, const PackedChunk& lost,
                const PackedChunk& adopted) {
  return is_sparse(native) && is_sparse(alien) && is_sparse(adopted) &&
         (lost.form == ChunkForm::kPart || is_sparse(lost)) &&
         native.count + alien.count + lost.count + adopted.count <= kFewFrames;
}

// Of what a node has few frames change, and it loses none but aliens.
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
  SetRevision own(std::move(natives));
  ChunkWords aliens_here, lost_here, adopted_here;
  ChunkPositions few_aliens, few_lost, few_adopted;
  for (std::size_t owner = 0; owner < verdicts.size(); ++owner) {
    PackedReader losses(verdicts[owner].first), adoptions(verdicts[owner].second);
    const Block slice = slice_of(domain, owner, verdicts.size());
    for (std::size_t c = slice.begin; c < slice.end; ++c) {
      const std::size_t limit = aliens.chunk_limit(c);
      const PackedChunk native = own.next(), alien = aliens.chunk(c);
      PackedChunk lost, adopted;
      demand(losses.next(limit, &lost) && adoptions.next(limit, &adopted));
      const bool none_adopted = adopted.count == 0;
      const std::int64_t gained = std::int64_t{alien.count} - lost.count + adopted.count;
      if (none_adopted &&
          ((lost.count == 0 && alien.count == 0) || (native.count == 0 && same(lost, alien))))
        own.keep();
      else if (are_sparse(native, alien, lost, adopted))
        demand(read_chunk(alien, limit, &few_aliens) &&
               read_part(lost, limit, few_aliens.all(), &few_lost) &&
               read_chunk(adopted, limit, &few_adopted) &&
               own.change(few_aliens.all(), few_lost.all(), few_adopted.all()));
      else if (are_few(alien, lost, adopted))
        demand(read_chunk(alien, limit, &few_aliens) && part_is_sound(lost, alien.count) &&
               read_chunk(adopted, limit, &few_adopted) &&
               own.change(few_aliens.all(), lost.payload, few_adopted.all(), gained));
      else
        demand(read_chunk(alien, limit, &aliens_here) &&
               read_part(lost, limit, aliens_here, &lost_here) &&
               read_chunk(adopted, limit, &adopted_here) &&
               own.change(aliens_here, lost_here, adopted_here, gained));
    }
    demand(losses.done() && adoptions.done());
  }
  return own.take();
}

ExchangeProtocol::ExchangeProtocol(std::size_t domain, std::vector<std::uint64_t> ranks)
    : domain_(domain),
      ranks_(std::move(ranks)),
      counters_(2 * ranks_.size() + 2),
      natives_(domain),
      aliens_(domain),
      own_(domain) {}

std::vector<MessagePair> ExchangeProtocol::claims() const {
  std::vector<MessagePair> to(ranks_.size());
  for (std::size_t n = 0; n < to.size(); ++n) {
    const Block slice = slice_of(domain_, n, to.size());
    to[n] = {natives_.bytes(slice), aliens_.bytes(slice)};
  }
  return to;
}

void ExchangeProtocol::run(Communicator& leaders, Trouble trouble) {
  const auto me = static_cast<std::size_t>(leaders.rank());
  const std::size_t nodes = ranks_.size();
  std::vector<MessagePair> to;
  Delivery from;

  // Step 1: the claims.
  trouble.attempt([&] { to = claims(); });
  trouble.together([&] { from = leaders.all_to_all(to); });

  // Step 2: the slice of this node.
  std::optional<SliceOwner> slice;
  Counters counters{counters_};
  trouble.attempt([&] {
    std::vector<Claims> claims;
    for (const MessagePair& message : from.messages())
      claims.push_back({message.first, message.second});
    if (claims.size() != nodes) throw std::runtime_error("communication failed");
    slice.emplace(slice_frames(domain_, slice_of(domain_, me, nodes)), me, ranks_);
    slice->decide(claims);
    std::ranges::copy(slice->wins(), counters.wins.begin());
    counters.residues[me] = slice->residue_count();
    counters.lost = slice->lost_count();
  });
  from = {};

  // Step 3: what all must know.
  counters.troubles = trouble.any() ? 1 : 0;
  leaders.all_sum(counters_);
  if (counters.troubles != 0)
    throw std::runtime_error(trouble.any() ? trouble.text() : "another node is in trouble");
  for (std::uint64_t residues : counters.residues) residue_count_ += residues;

  // Step 4: the exceptions, if there are any. Nodes that fail from here on are the caller's.
  std::vector<PackedSet> adopted;
  const bool exceptions = counters.lost != 0 || residue_count_ != 0;
  if (exceptions) {
    trouble.attempt([&] {
      std::vector<std::uint64_t> quotas(nodes);
      fill_quotas(counters.wins, ranks_, residue_count_, quotas);
      std::uint64_t before = 0;
      for (std::size_t n = 0; n < me; ++n) before += counters.residues[n];
      for (std::size_t n = 0; n < nodes; ++n) {
        adopted.push_back(slice->adopted(n, before, quotas));
        to[n] = {slice->lost(n).bytes(), adopted[n].bytes()};
      }
    });
    if (trouble.any()) to.clear();
    trouble.together([&] { from = leaders.all_to_all(to); });
  }
  trouble.attempt([&] {
    if (exceptions && from.messages().size() != nodes)
      throw std::runtime_error("communication failed");
    std::vector<MessagePair> verdicts(nodes);
    if (exceptions) std::ranges::copy(from.messages(), verdicts.begin());
    own_ = apply_verdicts(std::move(natives_), aliens_, verdicts);
  });
  if (trouble.any()) throw std::runtime_error(trouble.text());
}

}  // namespace zazen
