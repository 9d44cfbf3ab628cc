// LiveScreen: a terminal that is drawn again and again, until q is pressed.
//
// It takes the terminal's other screen, so what was there before comes back; lines are cut to
// its size. Not on a terminal it only waits.
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
  // Until the time is over or a signal came; true if q was pressed.
  bool wait(std::uint64_t wait_ms);

 private:
  bool active_;
  bool reads_keys_ = false;
  termios before_ = {};
};

// The line without what does not fit into so many columns. Escape sequences take none.
std::string cut_line(const std::string& line, std::size_t columns);

}  // namespace zazen
