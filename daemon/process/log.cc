#include "daemon/process/log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
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
struct JournalStream {
  dev_t dev = 0;
  ino_t ino = 0;
  JournalStream() {
    const char* stream = ::secure_getenv("JOURNAL_STREAM");
    unsigned long long parts[2] = {};
    if (stream == nullptr || std::sscanf(stream, "%llu:%llu", &parts[0], &parts[1]) != 2)
      return;
    dev = parts[0];
    ino = parts[1];
  }
  bool is_stderr() const {
    struct stat st = {};
    return ino != 0 && ::fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
  }
};
const JournalStream journal;

void write_number(unsigned value, int digits, char*& to) {
  for (int i = digits - 1; i >= 0; --i, value /= 10)
    to[i] = static_cast<char>('0' + value % 10);
  to += digits;
}

void write_time(char* to) {
  using namespace std::chrono;
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const sys_seconds at{seconds(now.tv_sec)};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  const auto part = [&to](auto value, int digits, char end) {
    write_number(static_cast<unsigned>(value), digits, to);
    *to++ = end;
  };
  part(static_cast<int>(date.year()), 4, '-');
  part(static_cast<unsigned>(date.month()), 2, '-');
  part(static_cast<unsigned>(date.day()), 2, 'T');
  part(time.hours().count(), 2, ':');
  part(time.minutes().count(), 2, ':');
  part(time.seconds().count(), 2, '.');
  part(now.tv_nsec / 1'000'000, 3, 'Z');
  *to++ = ' ';
  *to = '\0';
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

LineBeginning::LineBeginning(LogLevel level) {
  if (!journal.is_stderr()) {
    write_time(text);
    return;
  }
  const char priority = level == LogLevel::kInfo ? '6' : level == LogLevel::kWarn ? '4' : '3';
  text[0] = '<';
  text[1] = priority;
  text[2] = '>';
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
                       LineBeginning(LogLevel::kWarn).text, left_out);
  }
  line += fmt::format("{}zazend level={} event={}", LineBeginning(level).text,
                      level_name(level), event);
  for (const LogField& field : fields) {
    line += fmt::format(" {}={}", field.key, escape_log_value(field.value));
  }
  line += '\n';
  // A log that cannot be written is given up.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace zazen
