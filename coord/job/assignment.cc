// The same steps as the start of a job (coord/job/job.cc), with a domain that all ranks know.
#include "coord/job/assignment.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "coord/protocol/division.h"
#include "coord/ranks/job_ranks.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 36;

const TableDataset* find_dataset(const Table* table, const std::string& path) {
  for (std::uint32_t i = 0; table != nullptr && i < table->dataset_count; ++i)
    if (path == table->datasets[i].path) return &table->datasets[i];
  return nullptr;
}

void require_sensible(const AssignmentRequest& request) {
  if (request.stride == 0) throw std::runtime_error("a stride of 0");
  if (request.begin > request.end) throw std::runtime_error("the end is before the begin");
  if ((request.end - request.begin) / request.stride >= kMostFrames)
    throw std::runtime_error("more frames than 2^36");
}

}  // namespace

Result<Assignment> Assignment::agree(Communicator& world, const AssignmentRequest& request,
                                     const Settings& settings) {
  JobRanks all(world);
  FirstError& first_error = all.first_error();
  const Table* table = request.table;
  if (table != nullptr && !daemon_is_alive(*table, monotonic_ms())) table = nullptr;
  const TableDataset* dataset = find_dataset(table, request.dataset);
  auto failed = [&] { return Error{EPROTO, all.reason(), {}}; };

  std::optional<Introduction> me;
  first_error.local_step([&] {
    me = {{table != nullptr, {}},
          table != nullptr ? table->node_name : "",
          FilterWish::kAuto,
          false,
          settings.protocol,
          {request.begin, request.end, std::max(request.stride, std::uint64_t{1})}};
    if (table != nullptr) me->member.node = table->node_id;
  });
  all.introduce(me ? &*me : nullptr);
  Domain domain;
  std::optional<Division> division;
  first_error.local_step([&] {
    const Introduction& first = all.members()[0];
    require_sensible(request);
    if (me->selection != first.selection)
      throw std::runtime_error("another range of frames than that of rank 0");
    domain = Domain::range(request.begin, request.end, request.stride);
    const bool holds = all.is_leader() && dataset != nullptr;
    const PackedSet none(domain.size());
    division.emplace(
        all, first.protocol,
        std::vector{holds ? holdings_of_node(table->cache + request.dataset, domain)
                          : NodeHoldings{none, none}});
  });
  if (!all.vote() || !all.form_groups()) return failed();
  std::vector<Share> shares = division->run();
  if (!all.vote()) return failed();
  return Assignment(std::move(domain), std::move(shares[0].frames));
}

bool Assignment::next(FrameSeq* seq) {
  while (position_ == frames_.size()) {
    if (chunk_ == own_.chunks()) return false;
    frames_.clear();
    position_ = 0;
    DomainWalk walk(domain_);
    const std::size_t begin = chunk_ * kChunkFrames;
    ChunkWords words;
    read_chunk(own_.chunk(chunk_), own_.chunk_limit(chunk_), &words);
    for_each_bit(words, [&](std::size_t i) { frames_.push_back(walk.at(begin + i).seq); });
    ++chunk_;
  }
  *seq = frames_[position_++];
  return true;
}

void Assignment::rewind() {
  chunk_ = 0;
  frames_.clear();
  position_ = 0;
}

}  // namespace zazen
