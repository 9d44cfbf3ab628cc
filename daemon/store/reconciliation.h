// Reconciliation: compares the files of one dataset, which are the truth, with its entries
// (reconcile.h, D22).
//
// It puts the copies into the identity index and, where the stop was not clean, learns their
// sizes. It runs in the background, for seconds if there are millions of copies, and releases
// the NamesLock after each few of them. Not thread safe.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "daemon/store/copy_files.h"

namespace zazen {

class Reconciliation {
 public:
  Reconciliation(CopyFiles& copies, RoomLedger& ledger, const CacheDisk& disk,
                 std::uint32_t dataset)
      : copies_(copies),
        ledger_(ledger),
        disk_(disk),
        dataset_(dataset),
        files_(copies.dataset(dataset)),
        sizes_are_known_(ledger.is_reconciled(dataset)) {}

  // Adopted aliens that may still be young (trust.h).
  std::vector<FrameSeq> run();

 private:
  // These two return false if the disk does not answer.
  bool go_through_files();
  bool forget_lost();
  void take_in_files(std::span<const FrameSeq> frames);
  void forget_missing(std::span<const FrameSeq> frames);
  void finish();

  CopyFiles& copies_;
  RoomLedger& ledger_;
  const CacheDisk& disk_;
  const std::uint32_t dataset_;
  const DatasetFiles& files_;
  const bool sizes_are_known_;
  std::uint64_t seen_ = 0;
  std::uint64_t forgotten_ = 0;  // entries without a file
  std::uint64_t adopted_ = 0;    // files without an entry
  std::uint64_t removed_ = 0;    // files that are no whole copies
  std::vector<FrameSeq> young_;  // adopted ones
  std::optional<FrameSeq> newest_;
  timespec newest_time_ = {};
};

}  // namespace zazen
