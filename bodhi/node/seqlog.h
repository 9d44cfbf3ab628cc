// SequenceLog: which frames of one dataset this node holds, as appended records (D4).
//
// One log for natives, one for aliens. A record of 16 bytes says add or forget and carries
// its own checksum, so a torn tail is recognised and dropped. The log is a hint that makes a
// restart fast, and what the protocol reads (the ranks read it themselves, without asking
// the daemon); the files are the truth. append() of many records is one write(2).
//
// Not thread safe; the store holds its lock. One writer for each log: the daemon.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/base_types.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/node/log_summary.h"

namespace zazen {

enum class LogOperation : std::uint32_t { kAdd = 1, kForget = 2 };

struct LogRecord {
  FrameSeq seq;
  LogOperation operation;
  std::uint32_t checksum;
};

class SequenceLog {
 public:
  static constexpr std::uint64_t kRecordBytes = sizeof(LogRecord);

  // Opens or makes the log, drops a torn tail, and shows each record in turn: the last word on
  // a frame counts.
  using Visit = std::function<void(FrameSeq seq, bool held)>;
  static Result<SequenceLog> open(int directory_fd, const std::string& name,
                                  const Visit& visit = {});
  // Opens a log that is known to be whole, without reading it: ESTALE if it has another size.
  static Result<SequenceLog> resume(int directory_fd, const std::string& name,
                                    std::uint64_t size_bytes);

  // First the added, then the forgotten. If it fails (ENOSPC), none of it is in the log.
  Status append(std::span<const FrameSeq> added, std::span<const FrameSeq> forgotten);
  Status flush();  // fdatasync
  // Puts a new log with just these frames, in this order, in its place (a new file, flushed,
  // then rename). If it fails, the log is as it was.
  Status write_anew(int directory_fd, const std::string& name,
                    std::span<const FrameSeq> frames);
  // So many records have come since the last summary that a reader would notice, and all are
  // few enough to be replayed.
  bool wants_summary() const;
  Status summarize(int directory_fd, const std::string& name);

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint64_t records() const;
  // The frames that the records from `first` to the end add, in their order.
  std::vector<FrameSeq> added_since(std::uint64_t first) const;

 private:
  UniqueFd fd_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t summarized_bytes_ = 0;
};

// What a reader that is not the writer sees: the frames of a whole log, up to its first bad
// record. A missing log is an empty set. By raw system calls (it runs inside host programs).
Result<FrameSet> read_sequence_log(const std::string& path);
// The same without a set in between: what the log's summary has, if there is one, and the
// records behind it, some at a time, in their order.
struct LogVisitor {
  std::function<void(std::span<const FrameRun>)> held;
  std::function<void(std::span<const LogRecord>)> records;
};
Status visit_sequence_log(const std::string& path, const LogVisitor& visitor);

}  // namespace zazen
