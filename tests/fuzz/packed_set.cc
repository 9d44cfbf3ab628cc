// Packed sets as they come from other ranks. The first bytes choose the domain. The set is
// decoded, and it is read without decoding, as a node's claims and as a verdict. A node with
// sound claims of its own must then keep or lose, never gain, what it claims.
#include "coord/sets/packed_set.h"

#include <stdexcept>

#include "coord/protocol/exchange.h"
#include "coord/protocol/slice_owner.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

PackedSet every_third(std::size_t domain) {
  PackedSetWriter writer(domain);
  writer.append_run(0, 3, (domain + 2) / 3);
  return writer.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t domain = 1 + (data[0] | data[1] << 8) + (data[2] & 1) * kChunkFrames;
  MappedBytes copy(data + 3, size - 3);
  const std::span<const std::byte> bytes(copy.as<const std::byte>(), copy.size());
  const Result<PackedSet> set = PackedSet::decode(bytes, domain);
  const PackedSet mine = every_third(domain);

  SliceOwner owner(domain, 0, std::vector<std::uint64_t>{1, 2});
  const Claims claims[] = {{mine.bytes(), {}}, {bytes, bytes}};
  bool decided = false;
  try {
    owner.decide(claims);
    decided = true;
  } catch (const std::runtime_error&) {
  }
  demand(decided == set.ok());

  const MessagePair verdict[] = {{{}, bytes}};
  try {
    const PackedSet own = apply_verdicts(mine, PackedSet(domain), verdict);
    demand(set.ok() && own.count() == mine.count() + set->count());
  } catch (const std::runtime_error&) {
  }
  const MessagePair taking[] = {{bytes, {}}};
  try {
    demand(apply_verdicts(PackedSet(domain), mine, taking).count() <= mine.count());
  } catch (const std::runtime_error&) {
  }
  if (!set.ok()) return 0;

  std::size_t count = 0, last = 0;
  PackedSetWriter writer(domain);
  set->for_each([&](std::size_t i) {
    demand(i < domain && (count == 0 || i > last));
    last = i;
    ++count;
    writer.append(i);
  });
  demand(count == set->count());
  const PackedSet again = writer.take();
  demand(again == *set && *PackedSet::decode(again.bytes(), domain) == *set);
  demand(owner.wins()[0] + owner.wins()[1] + owner.residue_count() == domain);
  const std::size_t half = count / 2;
  demand(ranked_part(*set, {0, half}).count() == half);
  return 0;
}
