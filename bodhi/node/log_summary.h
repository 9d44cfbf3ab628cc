// LogSummary: the frames that the first part of a sequence log leaves, in a file beside the
// log.
//
// Every job reads the log when it starts; a log of a million records takes 16 ms. So the daemon
// writes a summary from time to time: the frames that the log holds so far, as strided runs. A
// reader takes the summary and the records after it. If the summary is missing, damaged or
// belongs to another log, the reader takes the whole log.
//
// The summary names its log by the inode number. It stays correct while the log is only
// appended to. The writer removes the summary before it truncates or replaces the log, and a
// reader opens the log first. So a summary that fits the log is correct. It covers no record
// that was damaged when it was written, nor any record after such a one. If a record is damaged
// later, the summary still has its frame.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/node/frame_set.h"

namespace zazen {

struct LogSummary {
  std::uint64_t log_bytes = 0;  // how much of the log it covers
  std::vector<FrameRun> runs;   // ascending
};

// The name of the summary of a log.
std::string summary_of(const std::string& log);

// The summary in the open file, if it is valid and belongs to this log.
std::optional<LogSummary> read_log_summary(int fd, std::uint64_t log_ino,
                                           std::uint64_t log_bytes);
// How many bytes of this log it covers, by its header alone; 0 if it belongs to another log.
std::uint64_t bytes_in_summary(int fd, std::uint64_t log_ino, std::uint64_t log_bytes);

// Replaces the log's summary.
Status write_log_summary(int directory_fd, const std::string& log, std::uint64_t log_ino,
                         std::uint64_t log_bytes, const FrameSet& frames);
// 0 or an errno; 0 also if there is none.
int remove_log_summary(int directory_fd, const std::string& log);

}  // namespace zazen
