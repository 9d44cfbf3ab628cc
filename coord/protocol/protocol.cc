// The paper's steps run for one dataset after the other.
#include "coord/protocol/protocol.h"

#include <numeric>

#include "coord/protocol/quotas.h"

namespace zazen {
namespace {

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

Protocol::Protocol(ProtocolChoice choice, const std::vector<std::size_t>& domains,
                   std::vector<std::uint64_t> ranks)
    : exchange_(domains, ranks), ranks_(std::move(ranks)) {
  if (choice != ProtocolChoice::kPaper) return;
  for (std::size_t domain : domains) papers_.push_back({PaperProtocol(domain)});
  caches_.resize(domains.size() * ranks_.size());
}

void Protocol::run(Communicator& leaders) {
  if (!papers_.empty() && run_papers(leaders)) return;
  papers_.clear();
  exchange_.run(leaders);
}

// False, on all nodes, if a frame is native on two of them.
bool Protocol::run_papers(Communicator& leaders) {
  const auto me = static_cast<std::size_t>(leaders.rank());
  const std::size_t nodes = ranks_.size();
  for (std::size_t d = 0; d < papers_.size(); ++d)
    caches_[d * nodes + me] = can_cache(d) ? 1 : 0;
  leaders.all_sum(caches_);
  for (std::size_t d = 0; d < papers_.size(); ++d) {
    unpack(natives(d), &papers_[d].steps.natives());
    unpack(aliens(d), &papers_[d].steps.aliens());
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

}  // namespace zazen
