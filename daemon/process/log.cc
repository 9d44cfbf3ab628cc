#include "daemon/process/log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

// $JOURNAL_STREAM names the stream that systemd made; stderr may be another one.
bool stderr_is_journal() {
  const char* stream = ::secure_getenv("JOURNAL_STREAM");
  struct stat st = {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &st) != 0) return false;
  return fmt::format("{}:{}", st.st_dev, st.st_ino) == stream;
}

// Says whether a line may be written, and how many were left out since the last one.
class LineBudget {
 public:
  bool take(std::int64_t second, int* left_out) {
    std::lock_guard lock(mutex_);
    *left_out = 0;
    if (second != second_) {
      second_ = second;
      written_ = 0;
      *left_out = left_out_;
      left_out_ = 0;
    }
    if (written_ >= kLogLinesPerSecond) {
      ++left_out_;
      return false;
    }
    ++written_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::int64_t second_ = -1;
  int written_ = 0;
  int left_out_ = 0;
};

LineBudget line_budget;

}  // namespace

const char* journal_prefix(LogLevel level) {
  static const bool is_journal = stderr_is_journal();
  if (!is_journal) return "";
  return level == LogLevel::kInfo ? "<6>" : level == LogLevel::kWarn ? "<4>" : "<3>";
}

std::string escape_log_value(std::string_view value) {
  bool plain = !value.empty();
  for (unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) plain = false;
  }
  if (plain) return std::string(value);
  std::string out = "\"";
  for (unsigned char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < ' ' || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

void log_line(LogLevel level, const char* event, std::initializer_list<LogField> fields) {
  int left_out = 0;
  if (!line_budget.take(monotonic_ms() / 1000, &left_out)) return;
  std::string line;
  if (left_out > 0) {
    line = fmt::format("{}zazend level=warn event=left_out lines={}\n",
                       journal_prefix(LogLevel::kWarn), left_out);
  }
  line += fmt::format("{}zazend level={} event={}", journal_prefix(level), level_name(level),
                      event);
  for (const LogField& field : fields) {
    line += fmt::format(" {}={}", field.key, escape_log_value(field.value));
  }
  line += '\n';
  // A log that cannot be written is given up.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace zazen
