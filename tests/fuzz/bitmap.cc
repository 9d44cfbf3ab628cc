// The bitmaps of the protocol: three nodes' holdings over a domain, combined as the
// all-reductions do, entry by entry against plain counting.
#include "coord/bitmap.h"

#include <fuzzer/FuzzedDataProvider.h>

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

FrameSet take_set(FuzzedDataProvider& input, std::size_t most) {
  std::vector<FrameSeq> frames;
  for (std::size_t i = input.ConsumeIntegralInRange<std::size_t>(0, most); i > 0; --i) {
    frames.push_back(input.ConsumeIntegralInRange<FrameSeq>(0, 300));
  }
  return FrameSet(std::move(frames));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  FrameSet domain = take_set(input, 200);
  ClaimBitmap combined(domain.size());
  std::vector<unsigned> holders(domain.size());
  for (int node = 0; node < 3; ++node) {
    FrameSet held = take_set(input, 100);
    Bitmap bits(domain.size());
    mark_held(domain.frames(), held, &bits);
    demand(bits.count() == set_intersection(domain, held).size());
    bits.for_each([&](std::size_t i) {
      demand(held.contains(domain.frames()[i]));
      ++holders[i];
    });
    ClaimBitmap claims(domain.size());
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
