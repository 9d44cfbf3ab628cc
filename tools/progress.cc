// See progress.h.
#include "tools/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "bodhi/units.h"
#include "tools/output.h"

namespace zazen {

Progress::Progress(std::string label, std::uint64_t total_frames)
    : label_(std::move(label)),
      total_frames_(total_frames),
      on_terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(std::uint64_t frames, std::uint64_t bytes) {
  if (!on_terminal_) return;
  Clock::time_point now = Clock::now();
  if (drawn_ && now - drawn_at_ < std::chrono::milliseconds(200)) return;
  drawn_ = true;
  drawn_at_ = now;

  double seconds = std::chrono::duration<double>(now - started_).count();
  std::string line = fmt::format("{}: {} of {}", printable(label_), format_count(frames),
                                 plural(total_frames_, "frame"));
  if (seconds > 0.5 && frames > 0) {
    auto rate = static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds);
    auto left = static_cast<std::uint64_t>(seconds / static_cast<double>(frames) *
                                           static_cast<double>(total_frames_ - frames));
    line += fmt::format("   {}   {}/s   {} left", format_size(bytes), format_size(rate),
                        format_duration(left));
  }
  fmt::print(stderr, "\r{}\033[K", line);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace zazen
