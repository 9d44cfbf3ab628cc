// LogSummary: which frames the first part of a sequence log leaves, in a file beside the log.
//
// A log of a million records takes a reader 16 ms, which every job would pay when it starts.
// So the daemon says now and then what the log comes to up to here, as strided runs; a reader
// takes that and the records behind it. It is a hint of a hint: where it is missing, damaged or
// of another log, the whole log is read.
//
// It names its log by the inode number and covers what is only appended to. Who cuts a log or
// puts another one in its place removes the summary first, and who reads opens the log first:
// so a summary that fits the log is true of it. It covers no record that was damaged when it
// was written, nor any behind that; what is damaged later it still tells.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/node/frame_set.h"

namespace zazen {

struct LogSummary {
  std::uint64_t log_bytes = 0;  // of the log, that it covers
  std::vector<FrameRun> runs;   // ascending
};

// The name of the summary of a log.
std::string summary_of(const std::string& log);

// The open file's, if it is whole and of this log.
std::optional<LogSummary> read_log_summary(int fd, std::uint64_t log_ino,
                                           std::uint64_t log_bytes);
// How much of this log it says to cover, without a look at the rest; 0 if it is not of it.
std::uint64_t bytes_in_summary(int fd, std::uint64_t log_ino, std::uint64_t log_bytes);

// Puts it in the place of the one before.
Status write_log_summary(int directory_fd, const std::string& log, std::uint64_t log_ino,
                         std::uint64_t log_bytes, const FrameSet& frames);
// 0 or an errno; there need not be one.
int remove_log_summary(int directory_fd, const std::string& log);

}  // namespace zazen
