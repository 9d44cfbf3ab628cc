// WaitingNatives: natives of one dataset that were pushed before the origin had them (D9).
//
// A file under a frame's name is served, and shown with the origin's identity. A native without
// an identity is kept apart, in <dataset>/.zazen/waiting under its number, until the origin has
// the frame. Then it moves to its name (adoption.h). The native log names it from the
// beginning.
//
// A frame is here or under its name. If a crash leaves it at both places, the file under the
// name stays: the push that was to replace it was not answered. Thread safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/base_types.h"
#include "daemon/disk/cache_disk.h"
#include "daemon/disk/pending_copies.h"
#include "daemon/process/beneath.h"

namespace zazen {

class WaitingNatives {
 public:
  // `index` is the dataset's, for `pending`. `flush`: of the directories.
  static Result<std::unique_ptr<WaitingNatives>> open(int dataset_directory,
                                                      PendingCopies& pending,
                                                      std::uint32_t index, Flush flush);
  // Loads the files, once; 0 or an errno. Before that no native is known. `has_name` says
  // whether a frame has a file under its name.
  int load(const std::function<bool(FrameSeq)>& has_name);
  static std::string name_of(FrameSeq seq) { return std::to_string(seq); }

  int directory() const { return directory_.get(); }
  bool contains(FrameSeq seq) const;
  std::vector<FrameSeq> frames() const;
  std::size_t size() const;

  // Each returns 0 or an errno.
  int publish(Temporary& file, FrameSeq seq);
  int move_out(FrameSeq seq, int directory_fd, const char* leaf);
  int remove(FrameSeq seq);
  // Flushes the directory if it has changed. Otherwise a frame that was invalidated under its
  // name could come back here after a power failure.
  int flush();

 private:
  WaitingNatives(UniqueFd directory, PendingCopies& pending, std::uint32_t index)
      : directory_(std::move(directory)), pending_(pending), index_(index) {}
  void add(FrameSeq seq);  // the caller holds mutex_

  const UniqueFd directory_;
  PendingCopies& pending_;
  const std::uint32_t index_;
  mutable std::mutex mutex_;
  std::unordered_map<FrameSeq, PendingCopies::Mark> frames_;
  bool loaded_ = false;
  bool unflushed_ = true;  // an earlier daemon may have left changes unflushed
};

}  // namespace zazen
