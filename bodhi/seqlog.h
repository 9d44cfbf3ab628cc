// SequenceLog: which frames of one dataset this node holds, as appended records (D4).
//
// One log for natives, one for aliens. A record of 16 bytes says add or forget and carries
// its own checksum, so a torn tail is recognised and dropped. The log is a hint that makes a
// restart fast, and what the protocol reads (the ranks read it themselves, without asking
// the daemon); the files are the truth. append() of many records is one write(2).
//
// Not thread safe; the store holds its lock. One writer for each log: the daemon.
#pragma once
#include <span>
#include <string>

#include "bodhi/base_types.h"
#include "bodhi/frame_set.h"
#include "bodhi/result.h"
#include "bodhi/unique_fd.h"

namespace zazen {

class SequenceLog {
 public:
  // Opens or makes the log, drops a torn tail, and replays it. If more than half of the
  // records are superseded, the log is written anew (a new file, flushed, then rename).
  static Result<SequenceLog> open(int directory_fd, const std::string& name);

  // First the added, then the forgotten. If it fails (ENOSPC), none of it is in the log.
  Status append(std::span<const FrameSeq> added, std::span<const FrameSeq> forgotten);
  Status flush();  // fdatasync

  // What the replay at open() found. Not kept up to date by append().
  const FrameSet& loaded() const { return loaded_; }

 private:
  UniqueFd fd_;
  std::uint64_t size_bytes_ = 0;
  FrameSet loaded_;
};

// What a reader that is not the writer sees: the frames of a whole log, up to its first bad
// record. A missing log is an empty set. By raw system calls (it runs inside host programs).
Result<FrameSet> read_sequence_log(const std::string& path);

}  // namespace zazen
