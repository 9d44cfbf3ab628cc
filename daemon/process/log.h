// The daemon's log: one line for each event, key=value, on stderr, which journald or a file
// receives. Each line begins with the time, "2026-11-19T23:00:00.123Z"; for journald, which
// knows the time, with its priority, "<4>". Values with spaces, quotes
// or control characters are quoted and escaped, so a path cannot forge a line. Lines beyond
// kLogLinesPerSecond in a second are counted and not written. Thread safe.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace zazen {

inline constexpr int kLogLinesPerSecond = 50;

enum class LogLevel { kInfo, kWarn, kError };

struct LogField {
  const char* key;
  std::string value;
};

void log_line(LogLevel level, const char* event, std::initializer_list<LogField> fields = {});

// The beginning of a line of this level: the priority and nothing else if stderr is journald's
// ($JOURNAL_STREAM). Makes calls only that a signal handler may make.
struct LineBeginning {
  explicit LineBeginning(LogLevel level);
  char text[32] = {};
};

// The value as it appears in a line.
std::string escape_log_value(std::string_view value);

}  // namespace zazen
