// LiveScreen: a terminal that is drawn again and again, until the user presses q.
//
// It uses the terminal's alternate screen, so the earlier content comes back at the end. Lines
// are wrapped to its width, and those beyond its last row are left out. Without a terminal it
// only waits.
#pragma once
#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

namespace zazen {

class LiveScreen {
 public:
  explicit LiveScreen(bool wanted);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  bool active() const { return active_; }
  void draw(const std::vector<std::string>& lines) const;
  // Waits until the time is over or a signal came; true if q was pressed.
  bool wait(std::uint64_t wait_ms);

 private:
  bool active_;
  bool reads_keys_ = false;
  termios before_ = {};
};

}  // namespace zazen
