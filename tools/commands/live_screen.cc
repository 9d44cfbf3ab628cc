#include "tools/commands/live_screen.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

struct Size {
  std::size_t rows = 24, columns = 80;
};
Size terminal_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
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
  Size size = terminal_size();
  std::string text = "\033[H";
  std::size_t shown = std::min(lines.size(), size.rows);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : "\n") + cut_line(lines[i], size.columns) + "\033[K";
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

std::string cut_line(const std::string& line, std::size_t columns) {
  std::string cut;
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      std::size_t end = i + 1;
      while (end < line.size() && std::isalpha(static_cast<unsigned char>(line[end])) == 0)
        ++end;
      cut += line.substr(i, end - i + 1);
      i = end;
      continue;
    }
    bool continues = (static_cast<unsigned char>(line[i]) & 0xc0) == 0x80;
    if (!continues) ++used;
    if (used <= columns) cut += line[i];
  }
  return cut;
}

}  // namespace zazen
