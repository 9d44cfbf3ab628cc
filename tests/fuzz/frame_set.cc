// A set of frames in its compact form, and the set operations on two of them (the first byte
// says where the second begins).
#include "bodhi/node/frame_set.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr std::uint64_t kMostFrames = 1 << 10;

bool is_ascending(const FrameSet& set) {
  for (std::size_t i = 1; i < set.size(); ++i) {
    if (set.frames()[i] <= set.frames()[i - 1]) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view bytes = as_text(data + 1, size - 1);
  std::size_t middle = std::min<std::size_t>(data[0], bytes.size());
  Result<FrameSet> a = FrameSet::decode(bytes.substr(0, middle), kMostFrames);
  Result<FrameSet> b = FrameSet::decode(bytes.substr(middle), kMostFrames);
  for (const Result<FrameSet>* set : {&a, &b}) {
    if (!set->ok()) continue;
    demand((*set)->size() <= kMostFrames && is_ascending(**set));
    Result<FrameSet> again = FrameSet::decode((*set)->encode(), kMostFrames);
    demand(again.ok() && *again == **set);
  }
  if (!a.ok() || !b.ok()) return 0;
  FrameSet both = set_intersection(*a, *b), either = set_union(*a, *b);
  FrameSet only_a = set_difference(*a, *b);
  demand(is_ascending(either) && either.size() + both.size() == a->size() + b->size());
  demand(set_union(only_a, both) == *a && set_union(only_a, *b) == either);
  return 0;
}
