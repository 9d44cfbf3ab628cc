// SequenceLog: which frames of one dataset this node holds, as appended records (D4).
//
// A dataset has one log for natives and one for aliens. A record of 16 bytes says add or forget
// and has its own checksum, so a torn tail is recognised and dropped. The files are the truth;
// the log is a hint that makes a restart fast. The ranks of a job also read it for the
// protocol, without asking the daemon. append() of many records is one write(2).
//
// Not thread safe; the store holds its lock. The daemon is the only writer.
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

  // Opens or makes the log, drops a torn tail, and visits each record in turn: the last record
  // of a frame decides.
  using Visit = std::function<void(FrameSeq seq, bool held)>;
  static Result<SequenceLog> open(int directory_fd, const std::string& name,
                                  const Visit& visit = {});
  // Opens a log that is known to be complete, without reading it. ESTALE if its size differs.
  static Result<SequenceLog> resume(int directory_fd, const std::string& name,
                                    std::uint64_t size_bytes);

  // Appends first the added, then the forgotten. If it fails (ENOSPC), the log has none of
  // them.
  Status append(std::span<const FrameSeq> added, std::span<const FrameSeq> forgotten);
  Status flush();  // fdatasync
  // Replaces the log by a new one with exactly these frames, in this order: a new file,
  // flushed, then renamed. If it fails, the log is unchanged.
  Status write_anew(int directory_fd, const std::string& name,
                    std::span<const FrameSeq> frames);
  // True if many records have come since the last summary, so that readers are slowed, and the
  // log is short enough to be replayed.
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

// For a reader that is not the writer: the frames of a whole log, up to its first bad record. A
// missing log is an empty set. By raw system calls (it runs inside host programs).
Result<FrameSet> read_sequence_log(const std::string& path);
// The same without building a set: the content of the log's summary, if there is one, and the
// records after it, in chunks and in order.
struct LogVisitor {
  std::function<void(std::span<const FrameRun>)> held;
  std::function<void(std::span<const LogRecord>)> records;
};
Status visit_sequence_log(const std::string& path, const LogVisitor& visitor);

}  // namespace zazen
