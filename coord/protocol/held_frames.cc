// The last record of a frame decides, so the records set and clear bits in their order.
#include "coord/protocol/held_frames.h"

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/seqlog.h"

namespace zazen {
namespace {

// If all numbers from the first to the last are frames of the domain, their indexes have the
// same distances as the numbers.
void add_run(const FrameRun& run, DomainFinder& finder, Bitmap& held) {
  const std::size_t first = finder.index_of(run.first);
  const std::size_t last = finder.index_of(run.first + run.stride * (run.count - 1));
  if (first != DomainFinder::kAbsent && last != DomainFinder::kAbsent &&
      last - first == run.stride * (run.count - 1)) {
    if (run.stride == 1) return held.set_all(first, last + 1);
    for (std::size_t index = first; index <= last; index += run.stride) held.set(index);
    return;
  }
  for (std::uint64_t k = 0; k < run.count; ++k) {
    const std::size_t index = finder.index_of(run.first + k * run.stride);
    if (index != DomainFinder::kAbsent) held.set(index);
  }
}

}  // namespace

NodeHoldings holdings_of_node(const std::string& directory, const Domain& domain) {
  return {held_frames(directory + '/' + kNativeLog, domain),
          held_frames(directory + '/' + kAlienLog, domain), true};
}

PackedSet held_frames(const std::string& log, const Domain& domain) {
  Bitmap held;  // without bits while the log is empty, as most are
  DomainFinder finder(domain);
  auto begin = [&] {
    if (held.size() == 0) held = Bitmap(domain.size());
  };
  auto summary = [&](std::span<const FrameRun> runs) {
    begin();
    for (const FrameRun& run : runs) add_run(run, finder, held);
  };
  auto records = [&](std::span<const LogRecord> some) {
    begin();
    for (const LogRecord& record : some) {
      const std::size_t index = finder.index_of(record.seq);
      if (index == DomainFinder::kAbsent) continue;
      record.operation == LogOperation::kAdd ? held.set(index) : held.clear(index);
    }
  };
  Status seen = visit_sequence_log(log, {std::ref(summary), std::ref(records)});
  return seen && held.size() != 0 ? PackedSet::pack(held) : PackedSet(domain.size());
}

}  // namespace zazen
