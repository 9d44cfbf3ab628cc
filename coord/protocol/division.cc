// The paper's steps run for one dataset after the other.
#include "coord/protocol/division.h"

#include <numeric>
#include <stdexcept>

#include "coord/protocol/quotas.h"
#include "coord/ranks/byte_stream.h"

namespace zazen {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The paper's step 7: the residues are divided evenly, independently of the signed-up frames.
PackedSet own_frames(const PaperProtocol& steps, const PackedSet& residues, std::size_t node,
                     std::span<const std::uint64_t> ranks,
                     std::span<const std::uint64_t> caches) {
  const std::vector<std::uint64_t> wins(ranks.size());
  std::vector<std::uint64_t> quotas(ranks.size());
  fill_quotas(wins, ranks, caches, residues.count(), quotas);
  const std::size_t begin = std::accumulate(
      quotas.begin(), quotas.begin() + static_cast<std::ptrdiff_t>(node), std::size_t{0});
  Bitmap own = steps.own();
  unpack(ranked_part(residues, {begin, begin + quotas[node]}), &own);
  return PackedSet::pack(own);
}

}  // namespace

Division::Division(JobRanks& all, ProtocolChoice choice, std::vector<NodeHoldings> holdings)
    : all_(&all) {
  for (const NodeHoldings& held : holdings) domains_.push_back(held.natives.domain());
  if (!all.is_leader()) return;
  for (const std::vector<int>& group : all.groups().ranks) ranks_.push_back(group.size());
  exchange_.emplace(std::move(holdings), ranks_);
  if (choice != ProtocolChoice::kPaper) return;
  for (std::size_t domain : domains_) papers_.push_back({PaperProtocol(domain)});
  caches_.resize(domains_.size() * ranks_.size());
}

// False, on all nodes, if a frame is native on two of them.
bool Division::run_papers() {
  Communicator& leaders = all_->leaders();
  const auto me = static_cast<std::size_t>(leaders.rank());
  const std::size_t nodes = ranks_.size();
  for (std::size_t d = 0; d < papers_.size(); ++d)
    caches_[d * nodes + me] = exchange_->held(d).can_cache ? 1 : 0;
  leaders.all_sum(caches_);
  for (std::size_t d = 0; d < papers_.size(); ++d) {
    unpack(exchange_->held(d).natives, &papers_[d].steps.natives());
    unpack(exchange_->held(d).aliens, &papers_[d].steps.aliens());
    if (!papers_[d].steps.run(leaders)) return false;
  }
  // Steps that allocate come after the last collective.
  for (std::size_t d = 0; d < papers_.size(); ++d) {
    Paper& paper = papers_[d];
    const PackedSet residues = PackedSet::pack(paper.steps.residues());
    paper.residue_count = residues.count();
    paper.own = own_frames(paper.steps, residues, me, ranks_,
                           std::span(caches_).subspan(d * nodes, nodes));
  }
  return true;
}

// A leader's message to the ranks of its node: for each rank a block of the node's frames of
// each dataset.
std::vector<std::string> Division::deal() const {
  const NodeGroups& groups = all_->groups();
  const std::size_t ranks = groups.ranks[groups.group(all_->rank())].size();
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < ranks; ++r) {
    ByteWriter part;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      const PackedSet& own = papers_.empty() ? exchange_->own(d) : papers_[d].own;
      part.text(as_text(ranked_part(own, block_of(own.count(), r, ranks)).bytes()));
    }
    parts.push_back(part.take());
  }
  return parts;
}

std::vector<Share> Division::run() {
  FirstError& first_error = all_->first_error();
  std::vector<Share> shares;
  std::vector<std::string> parts;
  if (exchange_) {
    first_error.collective_step([&] {
      if (!papers_.empty() && run_papers()) return;
      papers_.clear();
      exchange_->run(all_->leaders());
    });
    first_error.local_step([&] { parts = deal(); });
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
      std::uint64_t adopted = 0;
      if (!papers_.empty())
        adopted = papers_[d].residue_count;
      else if (exchange_)
        adopted = exchange_->residue_count(d);
      shares.push_back({std::move(*frames), adopted});
    }
  });
  return shares;
}

}  // namespace zazen
