// Fragment: the figures of one rank, as it sends them to rank 0 at the end of the job.
//
// A filtered rank reports the differences from the plan: its own frames that it did not open,
// and frames of others that it opened. Normally there are none. An unfiltered rank reports the
// frames that it listed and opened. Decoding is strict: the bytes come from another process.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/run/ledger.h"
#include "bodhi/node/frame_set.h"

namespace zazen {

struct DatasetFragment {
  std::string path;
  bool listed = false;         // a listing of it was begun
  bool listed_early = false;   // filtered: also before the rank had its view
  std::uint64_t assigned = 0;  // filtered: frames of the rank's view
  FrameSet unread_own;         // filtered: its own frames that it did not open
  FrameSet read_others;        // filtered: other frames of the domain that it opened
  std::uint64_t opened_outside = 0;
  FrameSet listed_frames;  // unfiltered
  FrameSet opened_frames;  // unfiltered

  bool touched() const;
  std::uint64_t read() const;  // frames that the rank opened
  bool operator==(const DatasetFragment&) const = default;
};

struct Fragment {
  int rank = 0;
  bool filtered = false;
  bool whole = true;  // false: some frames could not be noted, the counts are too low
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t bytes_local = 0;
  std::uint64_t bytes_origin = 0;
  std::vector<DatasetFragment> datasets;

  bool operator==(const Fragment&) const = default;
};

Fragment fragment_of_view(const View& view, Tally* tally);
// Frames of a dataset whose path could not be kept are left out; then the fragment is not
// whole.
Fragment fragment_of_ledger(const Ledger& ledger, int rank);

// Adds the figures of another fragment of the same rank, and the datasets that are new.
void add_fragment(Fragment more, Fragment* fragment);

std::string encode_fragment(const Fragment& fragment);
// The most frames that a rank can name: those of the view, and those that fit into its ledger.
std::uint64_t most_frames_of_a_fragment(const View* view);
// Refuses more frames than that: a few bytes can claim any number.
Result<Fragment> decode_fragment(std::string_view bytes, std::uint64_t most_frames);

}  // namespace zazen
