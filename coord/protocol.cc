#include "coord/protocol.h"

namespace zazen {

Protocol::Protocol(ProtocolChoice choice, std::size_t domain, std::vector<std::uint64_t> ranks)
    : exchange_(domain, std::move(ranks)), own_(domain), residues_(domain) {
  if (choice == ProtocolChoice::kPaper) paper_.emplace(domain);
}

void Protocol::run(Communicator& leaders) {
  if (!paper_) return exchange_.run(leaders);
  unpack(natives(), &paper_->natives());
  unpack(aliens(), &paper_->aliens());
  if (paper_->run(leaders)) {
    own_ = PackedSet::pack(paper_->own());
    residues_ = PackedSet::pack(paper_->residues());
  } else {
    paper_.reset();
    exchange_.run(leaders);
  }
}

}  // namespace zazen
