// ReadingPattern: detects that the program of a divided rank divides the list itself, so that
// frames will be left unread (D13). It detects this early, from the first opens; the audit at
// the end of the job gives the exact answer.
//
// - The rank skips. The first four of its own frames that it opens are those of
//   files[rank::size] of its list, in which names that are no frames may come first. (With two
//   ranks the match must be exact: a program may read every second frame, then the others.)
// - The rank opens frames of rank 0, which has listed, and leaves out its own: rank 0
//   distributes the names.
// - The rank opens all frames, others' between its own, from a list of before MPI_Init.
//
// A list is in the order of the numbers, or in that of the names ("f10" before "f2"). A second
// thread, or any other order, ends the watch. So there is no warning for a program that
// shuffles, or that gets its names from another source.
#pragma once
#include "bodhi/lean/frames/view.h"

namespace zazen {

enum class Pattern : std::uint32_t { kNone, kSkips, kOpensOthers, kReadsAll };

class ReadingPattern {
 public:
  // No open is examined after this number of opens.
  static constexpr std::uint32_t kLongest = 256;

  // Notes the first open of the frame, by the thread that this address belongs to. `rank_0`:
  // the view of rank 0, if it has listed the dataset and is known; else null.
  Pattern note(const View& view, Tally* tally, std::uint32_t dataset, FrameSeq seq,
               const void* thread, bool listed_early, const View* rank_0);
  bool is_over() const { return is_over_; }

 private:
  static constexpr std::uint32_t kOwnOpens = 4;
  static constexpr std::uint32_t kFewestOthers = 3;
  static constexpr std::uint32_t kManyOthers = 16;
  static constexpr std::uint64_t kFewestInARow = 6;

  Pattern note_own(const View& view, const ViewDataset& dataset, FrameSeq seq);
  Pattern note_other(const View& view, Tally* tally, const ViewDataset& dataset, FrameSeq seq);
  bool skips(const View& view, const ViewDataset& dataset,
             std::uint64_t (*position)(const View&, const ViewDataset&, FrameSeq)) const;

  std::uint32_t opens_ = 0;
  std::uint32_t dataset_ = 0;
  const void* thread_ = nullptr;
  FrameSeq own_[kOwnOpens] = {};
  std::uint32_t own_opens_ = 0;
  std::uint32_t other_opens_ = 0;
  bool are_all_rank_0s_ = true;        // the others' frames that it opened
  FrameSeq lowest_ = 0, highest_ = 0;  // of the others' frames that it opened
  std::int64_t last_index_ = -2;       // in the domain
  std::uint64_t in_a_row_ = 0;
  bool is_over_ = false;
};

}  // namespace zazen
