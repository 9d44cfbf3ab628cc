#include "preload/process/reading_pattern.h"

namespace zazen {
namespace {

// How many own frames come before the number.
std::uint64_t own_position(const View& view, const ViewDataset& dataset, FrameSeq seq) {
  std::uint64_t low = 0, high = dataset.own_count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (own_frame(view, dataset, middle).seq < seq) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct Decimal {
  FrameSeq number;
  std::uint64_t scale;  // the power of ten with the same number of digits
};

Decimal decimal(FrameSeq number) {
  std::uint64_t scale = 1;
  while (number / scale >= 10) scale *= 10;
  return {number, scale};
}

__extension__ using Product = unsigned __int128;

// In the order of their digits as text: "10" before "2", "1" before "10".
bool is_before(const Decimal& a, const Decimal& b) {
  const Product left = static_cast<Product>(a.number) * b.scale;
  const Product right = static_cast<Product>(b.number) * a.scale;
  return left != right ? left < right : a.scale < b.scale;
}

// The same in the order of the names, where a larger number may have a longer name. A rank
// calls this four times in total.
std::uint64_t position_by_name(const View& view, const ViewDataset& dataset, FrameSeq seq) {
  const Decimal mine = decimal(seq);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < dataset.own_count; ++i) {
    before += is_before(decimal(own_frame(view, dataset, i).seq), mine) ? 1 : 0;
  }
  return before;
}

bool was_opened(const View& view, Tally* tally, const ViewDataset& dataset, FrameSeq seq) {
  const std::int64_t index = domain_index(view, dataset, seq);
  return index >= 0 &&
         (opened_words(tally, dataset)[index / 64].load(std::memory_order_relaxed) >>
              (index % 64) &
          1) != 0;
}

}  // namespace

bool ReadingPattern::skips(const View& view, const ViewDataset& dataset,
                           std::uint64_t (*position)(const View&, const ViewDataset&,
                                                     FrameSeq)) const {
  const auto rank = static_cast<std::uint64_t>(view.rank);
  const auto ranks = static_cast<std::uint64_t>(view.ranks);
  const std::uint64_t first = position(view, dataset, own_[0]);
  if (first != rank && (ranks == 2 || first >= 2 * ranks)) return false;
  for (std::uint32_t i = 1; i < kOwnOpens; ++i) {
    if (position(view, dataset, own_[i]) != first + i * ranks) return false;
  }
  return true;
}

Pattern ReadingPattern::note_own(const View& view, const ViewDataset& dataset, FrameSeq seq) {
  constexpr std::uint64_t kMostToSort = 100'000;
  if (own_opens_ < kOwnOpens) own_[own_opens_] = seq;
  if (++own_opens_ != kOwnOpens || other_opens_ >= kFewestOthers) return Pattern::kNone;
  const bool does =
      skips(view, dataset, own_position) ||
      (dataset.own_count <= kMostToSort && skips(view, dataset, position_by_name));
  return does ? Pattern::kSkips : Pattern::kNone;
}

Pattern ReadingPattern::note_other(const View& view, Tally* tally, const ViewDataset& dataset,
                                   FrameSeq seq) {
  if (other_opens_++ == 0) lowest_ = highest_ = seq;
  if (seq < lowest_) lowest_ = seq;
  if (seq > highest_) highest_ = seq;
  if (other_opens_ < kFewestOthers || dataset.own_count == 0) return Pattern::kNone;
  // It leaves out an own frame between the others' or, after many opens, all own frames.
  if (own_opens_ == 0 && other_opens_ >= kManyOthers) return Pattern::kOpensOthers;
  const std::uint64_t next = own_position(view, dataset, lowest_);
  if (next >= dataset.own_count || own_opens_ >= other_opens_) return Pattern::kNone;
  const FrameSeq between = own_frame(view, dataset, next).seq;
  const bool left_out = between < highest_ && !was_opened(view, tally, dataset, between);
  return left_out ? Pattern::kOpensOthers : Pattern::kNone;
}

Pattern ReadingPattern::note(const View& view, Tally* tally, std::uint32_t dataset,
                             FrameSeq seq, const void* thread, bool listed_early,
                             const View* rank_0) {
  if (is_over_) return Pattern::kNone;
  if (opens_++ == 0) {
    dataset_ = dataset;
    thread_ = thread;
  }
  const std::int64_t index = domain_index(view, view.datasets[dataset], seq);
  if (dataset != dataset_ || thread != thread_ || index < 0 || opens_ > kLongest) {
    is_over_ = true;
    return Pattern::kNone;
  }
  const ViewDataset& own = view.datasets[dataset];
  in_a_row_ = index == last_index_ + 1 ? in_a_row_ + 1 : 1;
  last_index_ = index;
  Pattern pattern =
      is_own(view, own, seq) ? note_own(view, own, seq) : note_other(view, tally, own, seq);
  if (!is_own(view, own, seq) &&
      (rank_0 == nullptr || !is_own(*rank_0, rank_0->datasets[dataset], seq))) {
    are_all_rank_0s_ = false;
  }
  const bool has_listed = tally->datasets[dataset].listed.load(std::memory_order_relaxed) != 0;
  // Otherwise the program got the names from another source.
  if (pattern == Pattern::kOpensOthers ? !are_all_rank_0s_ : !has_listed) {
    pattern = Pattern::kNone;
  }
  if (listed_early) {  // the list has all frames: only reading all of them is wrong
    pattern = in_a_row_ >= kFewestInARow && own_opens_ > 0 && other_opens_ >= kFewestOthers
                  ? Pattern::kReadsAll
                  : Pattern::kNone;
  }
  is_over_ = pattern != Pattern::kNone;
  return pattern;
}

}  // namespace zazen
