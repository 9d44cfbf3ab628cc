// SuspendedCopies: copies of one dataset whose frames programs have open for writing (D25).
//
// Such a frame may change at any moment, so its copy is not served: it loses its name. It is
// kept under the same name below <cache>/.zazen/suspended<dataset>, so the kernel's name of a
// copy that somebody has open still ends with the origin's path. When the last writer has
// closed the frame, the copy gets its name back, or it is dropped if the frame has changed. The
// node holds it all the time: it is in its log, and its room counts.
//
// Each open for writing begins a new epoch of the frame. A copy gets its name back only if its
// epoch is still the one that was seen before it was asked whether somebody writes.
//
// A move is one rename and is not flushed. A crash leaves the copy at one of the two places,
// and after an unclean stop no copy is trusted. Thread safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "daemon/disk/pending_copies.h"
#include "daemon/process/beneath.h"

namespace zazen {

class SuspendedCopies {
 public:
  // `state_fd` is <cache>/.zazen, `index` the dataset's, for `pending`. `flush`: of the
  // directories.
  static Result<std::unique_ptr<SuspendedCopies>> open(int state_fd,
                                                       const DatasetConfig& dataset,
                                                       PendingCopies& pending,
                                                       std::uint32_t index, Flush flush);
  // Goes through the files, once; 0 or an errno. `is_elsewhere` says whether a frame has
  // another file, which stays; this one goes.
  int load(const std::function<bool(FrameSeq)>& is_elsewhere);

  int directory() const { return directory_.get(); }
  bool contains(FrameSeq seq) const { return epoch(seq) != 0; }
  std::uint64_t epoch(FrameSeq seq) const;  // 0: it is not suspended
  std::vector<FrameSeq> frames() const;
  std::size_t size() const;

  // Each returns 0 or an errno. `name` is the frame's, also below dataset_fd.
  int move_in(FrameSeq seq, int dataset_fd, const std::string& name);
  int begin_epoch(FrameSeq seq);  // ENOENT: it is not suspended
  int move_out(FrameSeq seq, int dataset_fd, const std::string& name);
  int remove(FrameSeq seq, const std::string& name);
  // Whatever was moved or removed since the last time.
  int flush();

 private:
  SuspendedCopies(UniqueFd directory, const DatasetConfig& dataset, PendingCopies& pending,
                  std::uint32_t index)
      : directory_(std::move(directory)), dataset_(dataset), pending_(pending), index_(index) {}
  void add(FrameSeq seq);  // mutex_ is held
  void forget(FrameSeq seq, std::string name);

  const UniqueFd directory_;
  const DatasetConfig& dataset_;
  PendingCopies& pending_;
  const std::uint32_t index_;
  mutable std::mutex mutex_;  // held while a file moves: whoever looks for it finds it
  struct Suspended {
    std::uint64_t epoch;
    PendingCopies::Mark pending;
  };
  std::unordered_map<FrameSeq, Suspended> frames_;
  std::uint64_t last_epoch_ = 0;
  bool loaded_ = false;
  bool unflushed_ = true;  // as an earlier daemon may have left it
};

}  // namespace zazen
