#include "tools/commands/live_screen.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t terminal_rows() {
  winsize size = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 ? size.ws_row : 24;
}

}  // namespace

LiveScreen::LiveScreen(bool wanted) : active_(wanted && ::isatty(STDOUT_FILENO) != 0) {
  if (!active_) return;
  reads_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (reads_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  fmt::print("\033[?1049h\033[?25l");
  std::fflush(stdout);
}

LiveScreen::~LiveScreen() {
  if (!active_) return;
  fmt::print("\033[?25h\033[?1049l");
  std::fflush(stdout);
  if (reads_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void LiveScreen::draw(const std::vector<std::string>& lines) const {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  std::string text = "\033[H";
  const char* separator = "";
  std::size_t rows_left = terminal_rows();
  for (const std::string& line : lines) {
    std::istringstream rows(wrapped(line, columns) + "\n");
    for (std::string row; rows_left > 0 && std::getline(rows, row); --rows_left) {
      text += separator + cut_line(row, columns) + "\033[K";
      separator = "\n";
    }
  }
  text += "\033[J";
  fmt::print("{}", text);
  std::fflush(stdout);
}

bool LiveScreen::wait(std::uint64_t wait_ms) {
  auto until = Clock::now() + std::chrono::milliseconds(wait_ms);
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd keys = {STDIN_FILENO, POLLIN, 0};
    int ready = ::poll(&keys, reads_keys_ ? 1 : 0, static_cast<int>(left));
    if (ready <= 0) return false;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1) {
      reads_keys_ = false;
    } else if (key == 'q' || key == 'Q') {
      return true;
    }
  }
}

}  // namespace zazen
