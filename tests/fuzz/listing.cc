// An encoded listing. The checksum is put right first: no fuzzer guesses it.
#include "bodhi/node/listing.h"

#include <xxhash.h>

#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  demand(!decode_listing(as_text(data, size)).ok() || size > sizeof(std::uint64_t));
  std::string bytes(as_text(data, size));
  std::uint64_t checksum = XXH3_64bits(data, size);
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  Result<Listing> listing = decode_listing(bytes, 1 << 16);
  if (!listing.ok()) return 0;
  demand(listing->frames.size() == listing->inodes.size());
  listing->settled();
  Result<Listing> again = decode_listing(encode_listing(*listing));
  demand(again.ok() && *again == *listing);
  return 0;
}
