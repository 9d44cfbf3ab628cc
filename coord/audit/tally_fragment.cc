// Makes a fragment from the mapped tally or the ledger, and encodes it.
#include "coord/audit/tally_fragment.h"

#include <algorithm>
#include <limits>
#include <map>

#include "coord/ranks/byte_stream.h"

namespace zazen {
namespace {

constexpr std::uint64_t kFragmentMagic = 0x32676172665a415aULL;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The opened frames of the domain, ascending.
std::vector<FrameSeq> opened_frames(const View& view, Tally* tally,
                                    const ViewDataset& dataset) {
  std::vector<FrameSeq> opened;
  const std::atomic<std::uint64_t>* words = opened_words(tally, dataset);
  const ViewRun* run = domain_runs(view, dataset);
  for (std::uint64_t r = 0; r < dataset.runs_count; ++r, ++run)
    for (std::uint64_t k = 0; k < run->count; ++k) {
      const std::uint64_t index = run->index + k;
      if (words[index / 64].load(std::memory_order_relaxed) >> (index % 64) & 1)
        opened.push_back(run->first + k * run->stride);
    }
  return opened;
}

}  // namespace

bool DatasetFragment::touched() const {
  return listed || opened_outside != 0 || read() != 0;
}

std::uint64_t DatasetFragment::read() const {
  return assigned - unread_own.size() + read_others.size() + opened_frames.size();
}

Fragment fragment_of_view(const View& view, Tally* tally) {
  Fragment fragment;
  fragment.rank = view.rank;
  fragment.filtered = true;
  fragment.hits = tally->hits;
  fragment.misses = tally->misses;
  fragment.bytes_local = tally->bytes_local;
  fragment.bytes_origin = tally->bytes_origin;
  for (std::uint32_t d = 0; d < view.dataset_count; ++d) {
    const ViewDataset& dataset = view.datasets[d];
    std::vector<FrameSeq> own(dataset.own_count);
    for (std::uint64_t i = 0; i < dataset.own_count; ++i)
      own[i] = own_frame(view, dataset, i).seq;
    const FrameSet own_set(std::move(own));
    const FrameSet opened(zazen::opened_frames(view, tally, dataset));

    DatasetFragment part;
    part.path = dataset.path;
    part.listed = tally->datasets[d].listed != 0;
    part.listed_early = tally->datasets[d].listed_early != 0;
    part.assigned = dataset.own_count;
    part.unread_own = set_difference(own_set, opened);
    part.read_others = set_difference(opened, own_set);
    part.opened_outside = tally->datasets[d].opened_outside;
    fragment.datasets.push_back(std::move(part));
  }
  return fragment;
}

Fragment fragment_of_ledger(const Ledger& ledger, int rank) {
  Fragment fragment;
  fragment.rank = rank;
  fragment.whole = ledger.overflowed == 0;
  fragment.hits = ledger.hits;
  fragment.misses = ledger.misses;
  fragment.bytes_local = ledger.bytes_local;
  fragment.bytes_origin = ledger.bytes_origin;

  struct Notes {
    std::vector<FrameSeq> listed, opened;
  };
  std::map<std::uint32_t, Notes> notes;
  ledger.for_each([&](std::uint32_t dataset, FrameSeq seq, std::uint32_t flags) {
    if (flags & Ledger::kListed) notes[dataset].listed.push_back(seq);
    if (flags & Ledger::kOpened) notes[dataset].opened.push_back(seq);
  });
  for (auto& [dataset, frames] : notes) {
    DatasetFragment part;
    part.path = ledger.path_of(dataset);
    if (part.path.empty()) {
      fragment.whole = false;
      continue;
    }
    part.listed = !frames.listed.empty();
    part.listed_frames = FrameSet(std::move(frames.listed));
    part.opened_frames = FrameSet(std::move(frames.opened));
    fragment.datasets.push_back(std::move(part));
  }
  std::ranges::sort(fragment.datasets, {}, &DatasetFragment::path);
  return fragment;
}

void add_fragment(Fragment more, Fragment* fragment) {
  fragment->whole = fragment->whole && more.whole;
  fragment->hits += more.hits;
  fragment->misses += more.misses;
  fragment->bytes_local += more.bytes_local;
  fragment->bytes_origin += more.bytes_origin;
  for (DatasetFragment& dataset : more.datasets)
    if (std::ranges::count(fragment->datasets, dataset.path, &DatasetFragment::path) == 0)
      fragment->datasets.push_back(std::move(dataset));
}

std::string encode_fragment(const Fragment& fragment) {
  ByteWriter out;
  out.number(kFragmentMagic);
  out.number(static_cast<std::uint64_t>(fragment.rank));
  out.number(fragment.filtered);
  out.number(fragment.whole);
  out.number(fragment.hits);
  out.number(fragment.misses);
  out.number(fragment.bytes_local);
  out.number(fragment.bytes_origin);
  out.number(fragment.datasets.size());
  for (const DatasetFragment& dataset : fragment.datasets) {
    out.text(dataset.path);
    out.number(dataset.listed);
    out.number(dataset.listed_early);
    out.number(dataset.assigned);
    out.number(dataset.opened_outside);
    for (const FrameSet* set : {&dataset.unread_own, &dataset.read_others,
                                &dataset.listed_frames, &dataset.opened_frames})
      out.text(set->encode());
  }
  return out.take();
}

std::uint64_t most_frames_of_a_fragment(const View* view) {
  std::uint64_t frames = 2 * Ledger::kSlots;  // listed, and opened
  for (std::uint32_t d = 0; view != nullptr && d < view->dataset_count; ++d)
    frames += view->datasets[d].domain_count;
  return frames;
}

Result<Fragment> decode_fragment(std::string_view bytes, std::uint64_t most_frames) {
  const Error malformed{EBADMSG, "fragment", {}};
  ByteReader in(bytes);
  Fragment fragment;
  std::uint64_t magic = 0, rank = 0, filtered = 0, whole = 0, count = 0;
  if (!in.number(&magic) || magic != kFragmentMagic || !in.number(&rank) ||
      rank > static_cast<std::uint64_t>(std::numeric_limits<int>::max()) ||
      !in.number(&filtered) || filtered > 1 || !in.number(&whole) || whole > 1 ||
      !in.number(&fragment.hits) || !in.number(&fragment.misses) ||
      !in.number(&fragment.bytes_local) || !in.number(&fragment.bytes_origin) ||
      !in.number(&count) || count > kMaxDatasets)
    return malformed;
  fragment.rank = static_cast<int>(rank);
  fragment.filtered = filtered == 1;
  fragment.whole = whole == 1;

  std::uint64_t frames_left = most_frames;
  for (std::uint64_t d = 0; d < count; ++d) {
    DatasetFragment dataset;
    std::string_view path;
    std::uint64_t listed = 0, listed_early = 0;
    if (!in.text(&path, kMaxPath - 1) || !in.number(&listed) || listed > 1 ||
        !in.number(&listed_early) || listed_early > 1 || !in.number(&dataset.assigned) ||
        !in.number(&dataset.opened_outside))
      return malformed;
    dataset.path = path;
    dataset.listed = listed == 1;
    dataset.listed_early = listed_early == 1;
    for (FrameSet* set : {&dataset.unread_own, &dataset.read_others, &dataset.listed_frames,
                          &dataset.opened_frames}) {
      std::string_view encoded;
      if (!in.text(&encoded, kNoLimit)) return malformed;
      Result<FrameSet> decoded = FrameSet::decode(encoded, frames_left);
      if (!decoded) return malformed;
      frames_left -= decoded->size();
      *set = std::move(*decoded);
    }
    if (dataset.unread_own.size() > dataset.assigned) return malformed;
    fragment.datasets.push_back(std::move(dataset));
  }
  if (!in.done()) return malformed;
  return fragment;
}

}  // namespace zazen
