// The bitmaps of the protocol: three nodes' holdings over a domain, combined as the
// all-reductions do, entry by entry against plain counting.
#include "coord/sets/bitmap.h"

#include <fuzzer/FuzzedDataProvider.h>

#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const auto frames = input.ConsumeIntegralInRange<std::size_t>(0, 200);
  ClaimBitmap combined(frames);
  std::vector<unsigned> holders(frames);
  for (int node = 0; node < 3; ++node) {
    Bitmap bits(frames);
    for (std::size_t i = 0; i < frames; ++i)
      if (input.ConsumeBool()) bits.set(i);
    std::size_t count = 0;
    bits.for_each([&](std::size_t i) {
      demand(bits.test(i));
      ++holders[i];
      ++count;
    });
    demand(bits.count() == count);
    ClaimBitmap claims(frames);
    claims.claim(bits);
    combine_claims(combined.words(), claims.words());
  }
  for (std::size_t i = 0; i < holders.size(); ++i) {
    demand(combined.entry(i) == std::min(holders[i], 2u));
    std::uint64_t word = combined.words()[i / 32];
    demand((low_bits(word) >> (i % 32) & 1) == (holders[i] == 1));
    demand((high_bits(word) >> (i % 32) & 1) == (holders[i] > 1));
  }
  return 0;
}
