#include "tools/support/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bodhi/common/units.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::chrono::milliseconds kRedrawPeriod(200), kPlainPeriod(10'000);

}  // namespace

Progress::Progress(std::string label, std::uint64_t total_frames)
    : label_(std::move(label)),
      total_frames_(total_frames),
      on_terminal_(isatty(STDERR_FILENO) != 0) {
  if (!on_terminal_) drawn_at_ = started_;  // short work shows no progress
}

void Progress::show(std::uint64_t frames, std::uint64_t bytes) {
  Clock::time_point now = Clock::now();
  if (now - drawn_at_ < (on_terminal_ ? kRedrawPeriod : kPlainPeriod)) return;
  drawn_ = on_terminal_;
  drawn_at_ = now;

  double seconds = std::chrono::duration<double>(now - started_).count();
  // Frames may arrive meanwhile, and there may be none.
  const std::uint64_t whole = std::max({total_frames_, frames, std::uint64_t{1}});
  std::string line = fmt::format(": {}% {} of {}", 100 * frames / whole, format_count(frames),
                                 plural(total_frames_, "frame"));
  if (seconds > 0.5 && frames > 0) {
    auto rate = static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds);
    auto left = static_cast<std::uint64_t>(seconds / static_cast<double>(frames) *
                                           static_cast<double>(whole - frames));
    line += fmt::format("   {}   {}/s   {} left", format_size(bytes), format_size(rate),
                        format_duration(left));
  }
  // The last column stays free: some terminals wrap there.
  const std::size_t columns = terminal_columns(STDERR_FILENO) - 1;
  line = shortened(printable(label_), columns - std::min(columns, width_of(line))) + line;
  if (on_terminal_) {
    fmt::print(stderr, "\r{}\033[K", cut_line(line, columns));
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
  drawn_at_ = {};
}

}  // namespace zazen
