// Progress: one line on a terminal with percentage, amount, rate and time left, drawn a few
// times a second; elsewhere a plain line every ten seconds.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace zazen {

class Progress {
 public:
  Progress(std::string label, std::uint64_t total_frames);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t frames, std::uint64_t bytes);
  void clear();  // before other talk on stderr

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  std::uint64_t total_frames_;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_at_{};
};

}  // namespace zazen
