// A rank's view as a program maps it. A valid one can be walked to its last frame and name, and
// every frame that is opened has a bit in the tally.
#include "bodhi/lean/frames/view.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr std::uint64_t kLargestTally = 1 << 20;
constexpr std::uint64_t kMostFrames = 1'000;

void walk(const View& view, const ViewDataset& dataset, Tally* tally) {
  // A few runs can promise any number.
  for (std::uint64_t i = 0; i < std::min(dataset.own_count, kMostFrames); ++i) {
    FrameSeq seq = own_frame(view, dataset, i).seq;
    demand(is_own(view, dataset, seq));
    demand(domain_index(view, dataset, seq) < static_cast<std::int64_t>(dataset.domain_count));
    if (tally != nullptr) mark_opened(view, tally, dataset, seq);
  }
  for (std::uint64_t i = 0; i < dataset.names_count; ++i) {
    const ViewName& name = other_names(view, dataset)[i];
    const char* text = reinterpret_cast<const char*>(&view) + name.name_offset;
    demand(has_name(view, dataset, text) && std::strlen(text) < 256);
  }
  const auto* runs = reinterpret_cast<const ViewRun*>(reinterpret_cast<const char*>(&view) +
                                                      dataset.runs_offset);
  for (std::uint64_t i = 0; i < dataset.runs_count; ++i) {
    FrameSeq last = runs[i].first + runs[i].stride * (runs[i].count - 1);
    demand(domain_index(view, dataset, runs[i].first) ==
           static_cast<std::int64_t>(runs[i].index));
    demand(domain_index(view, dataset, last) ==
           static_cast<std::int64_t>(runs[i].index + runs[i].count - 1));
    if (tally != nullptr) mark_opened(view, tally, dataset, last);
  }
  domain_index(view, dataset, 0);
  domain_index(view, dataset, ~FrameSeq{0});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const View* view = bytes.as<View>();
  if (!view_is_valid(view, size)) return 0;
  bool has_tally = view->tally_size <= kLargestTally;
  std::vector<char> zeros(has_tally ? view->tally_size : 0);
  MappedBytes tally(zeros.data(), zeros.size());
  for (std::uint32_t i = 0; i < view->dataset_count; ++i) {
    walk(*view, view->datasets[i], has_tally ? tally.as<Tally>() : nullptr);
  }
  return 0;
}
