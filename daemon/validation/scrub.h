// Scrub: reads copies and compares them with the checksum that was taken when they were made
// (`zazenctl verify`). A bad copy is dropped, native or alien: the next read of that frame goes
// to the origin and makes a new copy, an alien.
//
// No lock of the store is held while a copy is read. Pages that were not in the page cache
// before are not left there: a scrub of a whole disk evicts nothing else. Pages in the page
// cache are verified as they are, because programs read them.
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

// Verifies one copy. ECANCELED, as kUnreadable, if it was given up.
Scrubbed scrub_copy(const Store& store, std::uint32_t dataset, FrameSeq seq,
                    const std::atomic<bool>& give_up);

// Verifies copies of the range for about `patience_ms`, at least one, and drops the bad ones.
struct ScrubbedPiece {
  VerifyReply figures = {};
  std::vector<VerifyFinding> findings;
};
ScrubbedPiece scrub_piece(Store& store, std::uint32_t dataset, FrameSeq first, FrameSeq last,
                          std::int64_t patience_ms, const std::atomic<bool>& give_up);

}  // namespace zazen
