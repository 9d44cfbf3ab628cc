// The last word on a frame counts, so the records set and clear bits in their order.
#include "coord/holdings.h"

#include "bodhi/seqlog.h"

namespace zazen {

PackedSet held_frames(const std::string& log, const Domain& domain) {
  Bitmap held(domain.size());
  DomainFinder finder(domain);
  Status seen = visit_sequence_log(log, [&](std::span<const LogRecord> records) {
    for (const LogRecord& record : records) {
      const std::size_t index = finder.index_of(record.seq);
      if (index == DomainFinder::kAbsent) continue;
      record.operation == LogOperation::kAdd ? held.set(index) : held.clear(index);
    }
  });
  return seen ? PackedSet::pack(held) : PackedSet(domain.size());
}

}  // namespace zazen
