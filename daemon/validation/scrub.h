// Scrub: reads copies and compares them with the checksum that was taken when they were made
// (`zazenctl verify`). A bad one is dropped, native or alien: the next read of that frame takes
// the origin and makes a new copy, an alien.
//
// The store's locks are not held while a copy is read. What was not in the page cache before is
// not left there: a scrub of a whole disk pushes nothing else out. What is in the page cache is
// what programs read, and it is what is verified.
#pragma once
#include <atomic>
#include <vector>

#include "bodhi/lean/requests/wire.h"
#include "daemon/store/store.h"

namespace zazen {

struct Scrubbed {
  Verdict verdict = Verdict::kGood;
  int error = 0;  // with kUnreadable
  std::uint64_t bytes = 0;
  ExactCopy copy = {};
};

// One copy. ECANCELED, as kUnreadable, if it was given up.
Scrubbed scrub_copy(const Store& store, std::uint32_t dataset, FrameSeq seq,
                    const std::atomic<bool>& give_up);

// Copies of the range for about `patience_ms`, at least one; what is bad is dropped.
struct ScrubbedPiece {
  VerifyReply figures = {};
  std::vector<VerifyFinding> findings;
};
ScrubbedPiece scrub_piece(Store& store, std::uint32_t dataset, FrameSeq first, FrameSeq last,
                          std::int64_t patience_ms, const std::atomic<bool>& give_up);

}  // namespace zazen
