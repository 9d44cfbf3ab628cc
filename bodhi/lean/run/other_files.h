// OtherFiles: calls for files of a dataset's directory that are no frames, by all processes of
// a job. Names that differ in numbers only are one pattern: ".f*.xtc_offsets.npz".
//
// A fixed table in the job's record (run_record.h): the patterns that come first have a slot
// each, the others share the last one. Plain atomics, no lock, no allocation. Lean.
#pragma once
#include <atomic>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

enum class OtherCall : std::uint32_t {
  kRead = 0,
  kWrite = 1,
  kStat = 2
};  // opens to read, to write

struct OtherPattern {
  static constexpr std::size_t kText = 88;

  std::atomic<std::uint64_t> key;  // 0: free
  std::atomic<std::uint32_t> is_named;
  std::uint32_t dataset;                // in the record's ledger
  std::atomic<std::uint64_t> calls[3];  // by OtherCall
  std::atomic<std::uint64_t> open_ns, stat_ns;
  char text[kText];  // "." is the directory itself

  std::uint64_t opens() const { return calls[0] + calls[1]; }
  std::uint64_t stats() const { return calls[2]; }
  bool has_number() const;
};

struct OtherFiles {
  static constexpr std::size_t kPatterns = 64;  // the last one is of all others
  static constexpr std::size_t kMostShown = 5;

  OtherPattern patterns[kPatterns];

  // A call for `name`, below the dataset's directory ("": the directory), took so long.
  void note(std::uint32_t dataset, const char* name, OtherCall call, std::int64_t ns);

  // The most frequent patterns of a dataset, or of all with Ledger::kNoDataset. Returns how
  // many.
  std::size_t most_frequent(std::uint32_t dataset,
                            const OtherPattern* (&out)[kMostShown]) const;
};

// The name with '*' for each run of digits, as much of it as fits.
void write_pattern(const char* name, char (&out)[OtherPattern::kText]);

}  // namespace zazen
