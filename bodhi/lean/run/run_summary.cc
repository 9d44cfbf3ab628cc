#include "bodhi/lean/run/run_summary.h"

#include <cstring>
#include <iterator>

namespace zazen {
namespace {

constexpr char kName[] = "zazen: ";
constexpr std::size_t kNameLength = sizeof kName - 1;

class Words {
 public:
  Words(char* out, std::size_t capacity) : out_(out), capacity_(capacity) {}

  void text(const char* words) {
    while (*words != '\0' && used_ + 1 < capacity_) out_[used_++] = *words++;
  }
  void begin_line() {
    line_ = used_;
    text(kName);
  }
  // A blank, or a new line if the line cannot take the words up to the next such place.
  void may_break() {
    wrap();
    break_ = used_;
    text(" ");
  }
  void end_line() {
    wrap();
    break_ = 0;
    text("\n");
  }
  // Control characters would play with a terminal.
  void path(const char* words) {
    for (; *words != '\0'; ++words) {
      const auto byte = static_cast<unsigned char>(*words);
      const char shown[] = {byte < 0x20 || byte == 0x7f ? '?' : *words, '\0'};
      text(shown);
    }
  }
  // The path after these words, without its middle if the line cannot take it and `after` more
  // columns. Nothing if there is hardly a column for it.
  void shortened(const char* before, const char* words, std::size_t after = 0) {
    constexpr char kCut[] = "...";
    constexpr std::size_t kLeast = 8;
    const std::size_t begin = break_ == 0 ? line_ : break_ + 1 - kNameLength;
    const std::size_t taken = used_ - begin + std::strlen(before) + after;
    const std::size_t length = std::strlen(words);
    const std::size_t room = taken < kSummaryColumns ? kSummaryColumns - taken : 0;
    if (length > room && room < kLeast) return;
    text(before);
    if (length <= room) return path(words);
    auto is_inside = [&](std::size_t at) { return (words[at] & 0xc0) == 0x80; };  // of UTF-8
    const std::size_t kept = room - (sizeof kCut - 1);
    std::size_t head = kept / 2, tail = length - (kept - kept / 2);
    while (head > 0 && is_inside(head)) --head;
    while (tail < length && is_inside(tail)) ++tail;
    char beginning[kSummaryColumns];
    std::memcpy(beginning, words, head);
    beginning[head] = '\0';
    path(beginning);
    text(kCut);
    path(words + tail);
  }
  // "41,208"
  void count(std::uint64_t value) {
    char digits[32];
    std::size_t begin = sizeof digits - 1;
    digits[begin] = '\0';
    for (int written = 0; written == 0 || value != 0; ++written, value /= 10) {
      if (written != 0 && written % 3 == 0) digits[--begin] = ',';
      digits[--begin] = static_cast<char>('0' + value % 10);
    }
    text(digits + begin);
  }
  void counted(std::uint64_t value, const char* noun) {
    count(value);
    text(" ");
    text(noun);
    if (value != 1) text("s");
  }
  void two_digits(std::uint64_t value) {
    const char digits[] = {static_cast<char>('0' + value / 10 % 10),
                           static_cast<char>('0' + value % 10), '\0'};
    text(digits);
  }
  // Two digits at least: "7.2", "0.25", "16.8", "640"; in thousandths.
  void decimal(std::uint64_t thousandths) {
    const std::uint64_t hundredths = (thousandths + 5) / 10, tenths = (thousandths + 50) / 100;
    if (hundredths < 100) {
      text("0.");
      two_digits(hundredths);
    } else if (tenths < 1000) {
      count(tenths / 10);
      text(".");
      count(tenths % 10);
    } else {
      count((thousandths + 500) / 1000);
    }
  }
  void size(std::uint64_t bytes) {
    constexpr const char* kUnits[] = {" kB", " MB", " GB", " TB", " PB", " EB"};
    if (bytes < 1000) return counted(bytes, "byte");
    std::size_t unit = 0;
    std::uint64_t of_unit = 1000;
    for (; unit + 1 < std::size(kUnits) && bytes >= of_unit * 1000 - of_unit / 2; ++unit) {
      of_unit *= 1000;
    }
    decimal(bytes / (of_unit / 1000));
    text(kUnits[unit]);
  }
  void duration(std::int64_t ns) {
    const auto ms = static_cast<std::uint64_t>(ns < 0 ? 0 : ns) / 1'000'000;
    const std::uint64_t seconds = (ms + 500) / 1000;
    if (ms < 99'950) {
      decimal(ms);
      text(" s");
    } else if (seconds < 3600) {
      count(seconds / 60);
      text("m");
      two_digits(seconds % 60);
      text("s");
    } else {
      count(seconds / 3600);
      text("h");
      two_digits(seconds / 60 % 60);
      text("m");
    }
  }
  std::size_t end() {
    out_[used_] = '\0';
    return used_;
  }

 private:
  void wrap() {
    if (break_ == 0 || used_ - line_ <= kSummaryColumns || used_ + kNameLength >= capacity_)
      return;
    char* rest = out_ + break_ + 1;
    std::memmove(rest + kNameLength, rest, used_ - break_ - 1);
    std::memcpy(rest, kName, kNameLength);
    rest[-1] = '\n';
    used_ += kNameLength;
    line_ = break_ + 1;
    break_ = 0;
  }

  char* out_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t line_ = 0;   // where the line begins
  std::size_t break_ = 0;  // the last place where it may end; 0: there is none
};

void write_share(Words& words, std::uint64_t hits, std::uint64_t opens, bool several_nodes) {
  const unsigned percent = percent_of(hits, opens);
  if (percent == 0) return words.text("all from the origin");
  if (percent == 100) {
    words.text("all");
  } else {
    words.count(percent);
    words.text("%");
  }
  words.text(several_nodes ? " from the nodes' disks" : " from this node's disk");
}

void write_earlier(Words& words, const RunSummary& summary) {
  const EarlierRun* earlier = choose_earlier(summary);
  if (earlier == nullptr || !tells_something(summary, *earlier)) return;
  words.text(";");
  words.may_break();
  words.duration(earlier->duration_ns);
  const unsigned then = percent_of(earlier->hits, earlier->opens);
  if (then == percent_of(summary.figures.hits, summary.figures.opens())) {
    words.text(" before");
  } else if (then == 0 || then == 100) {
    words.text(then == 0 ? " when nothing was cached" : " when all was cached");
  } else {
    words.text(" when ");
    words.count(then);
    words.text("% was cached");
  }
}

void write_all_from_origin(Words& words, const RunSummary& summary, const char* end) {
  words.text(":");
  words.may_break();
  words.text("all was read from the origin in ");
  words.duration(summary.duration_ns);
  words.text(end);
}

void write_nothing_opened(Words& words, const RunSummary& summary) {
  if (!summary.has_daemon) {
    words.shortened(
        summary.has_other_daemon ? "zazend is of another version at " : "no daemon answers at ",
        summary.runtime, 1);
    return write_all_from_origin(words, summary, "");
  }
  if (summary.datasets == 0) {
    words.text("this node serves no dataset");
    return write_all_from_origin(words, summary, "");
  }
  if (summary.numbered != nullptr && summary.numbered_frames[0] != '\0') {
    words.text("0 of ");
    words.counted(summary.numbered->calls[0], "open");
    words.shortened(" of ", summary.numbered->text);
    words.may_break();
    words.shortened("in ", summary.numbered_dataset);
    words.may_break();
    words.shortened("match ", summary.numbered_frames, 1);
    write_all_from_origin(words, summary, ";");
    words.may_break();
    return words.text("zazenctl doctor tells which template would match");
  }
  constexpr char kOpenedIn[] = " was opened in ";
  if (summary.datasets == 1) {
    words.shortened("no frame of ", summary.dataset, sizeof kOpenedIn + sizeof "999h59m");
  } else {
    words.text("no frame of ");
    words.counted(summary.datasets, "dataset");
  }
  words.text(kOpenedIn);
  words.duration(summary.duration_ns);
  words.text(";");
  words.may_break();
  words.text("zazenctl explain FILE tells whether FILE is one");
}

void write_frames(Words& words, const RunSummary& summary) {
  const RunFigures& figures = summary.figures;
  if (!figures.is_whole) words.text("at least ");
  words.counted(figures.frames, "frame");
  if (figures.opens() != figures.frames) {
    words.text(" (");
    words.counted(figures.opens(), "open");
    words.text(")");
  }
  words.text(",");
  words.may_break();
  words.size(figures.bytes_local + figures.bytes_origin);
  words.text(" in ");
  words.duration(summary.duration_ns);
  words.text(",");
  words.may_break();
  write_share(words, figures.hits, figures.opens(), summary.nodes > 1);
  write_earlier(words, summary);
}

// If they took a tenth of the time.
void write_others(Words& words, const RunSummary& summary) {
  constexpr std::int64_t kLeastNs = 100'000'000;
  if (summary.other_ns < kLeastNs || summary.other_ns < summary.duration_ns / 10) return;
  words.begin_line();
  words.text("other files: ");
  words.counted(summary.other_opens, "open");
  words.text(", ");
  words.counted(summary.other_stats, "stat");
  words.text(", ");
  words.duration(summary.other_ns);
  words.shortened(", most for ", summary.slowest_other);
  words.end_line();
}

}  // namespace

unsigned percent_of(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return 0;
  if (part >= whole) return 100;
  const auto percent = static_cast<unsigned>((part * 100 + whole / 2) / whole);
  return percent == 0 ? 1 : percent >= 100 ? 99 : percent;
}

const EarlierRun* choose_earlier(const RunSummary& summary) {
  const unsigned now = percent_of(summary.figures.hits, summary.figures.opens());
  const EarlierRun* latest = nullptr;
  for (std::size_t i = 0; i < summary.earlier_count; ++i) {
    const EarlierRun& run = summary.earlier[i];
    if (run.duration_ns <= 0 || run.frames != summary.figures.frames) continue;
    if (percent_of(run.hits, run.opens) != now) return &run;
    if (latest == nullptr) latest = &run;
  }
  return latest;
}

bool tells_something(const RunSummary& summary, const EarlierRun& earlier) {
  constexpr std::int64_t kLeastNs = 100'000'000;
  const std::int64_t now = summary.duration_ns, then = earlier.duration_ns;
  const std::int64_t longer = now < then ? then : now;
  const std::int64_t difference = longer - (now < then ? now : then);
  if (difference < kLeastNs || difference < longer / 10) return false;
  const bool had_more = percent_of(earlier.hits, earlier.opens) >
                        percent_of(summary.figures.hits, summary.figures.opens());
  return had_more == (then < now);
}

void add_others(const RunRecord& record, RunSummary* summary) {
  std::uint64_t most_ns = 0, most_reads = 0;
  for (const OtherPattern& pattern : record.others.patterns) {
    if (pattern.is_named.load(std::memory_order_acquire) == 0) continue;
    const std::uint64_t ns = pattern.open_ns + pattern.stat_ns;
    const std::uint64_t reads = pattern.calls[0];
    summary->other_opens += pattern.opens();
    summary->other_stats += pattern.stats();
    summary->other_ns += static_cast<std::int64_t>(ns);
    if (ns > most_ns) {
      most_ns = ns;
      summary->slowest_other = pattern.text;
    }
    if (reads > most_reads && pattern.dataset < Ledger::kDatasets && pattern.has_number()) {
      most_reads = reads;
      summary->numbered = &pattern;
      summary->numbered_dataset = record.ledger.path_of(pattern.dataset);
    }
  }
}

std::size_t write_summary(const RunSummary& summary, char* out, std::size_t capacity) {
  Words words(out, capacity);
  words.begin_line();
  if (summary.ranks > 1) {
    words.counted(static_cast<std::uint64_t>(summary.ranks), "rank");
    if (summary.nodes > 1) {
      words.text(" on ");
      words.counted(static_cast<std::uint64_t>(summary.nodes), "node");
    }
    words.text(":");
    words.may_break();
  }
  const bool has_opened = summary.figures.opens() != 0;
  has_opened ? write_frames(words, summary) : write_nothing_opened(words, summary);
  words.end_line();
  if (has_opened) write_others(words, summary);
  return words.end();
}

std::size_t write_duration(std::int64_t ns, char* out, std::size_t capacity) {
  Words words(out, capacity);
  words.duration(ns);
  return words.end();
}

}  // namespace zazen
