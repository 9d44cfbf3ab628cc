#include "tools/support/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace zazen {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kIndent = 2;
constexpr char kGap[] = "...";

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The index after the code point or escape sequence that begins here.
std::size_t next_of(const std::string& text, std::size_t i) {
  if (text[i] == '\033') {
    while (++i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) {
    }
    return std::min(i + 1, text.size());
  }
  while (++i < text.size() && is_continuation(text[i])) {
  }
  return i;
}

// Where the lines after the first begin: below the text after a label, if that is near enough.
std::size_t indent_of(const std::string& text, std::size_t most) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t gap = text.find("  ", first);
  const std::size_t after = text.find_first_not_of(' ', gap);
  if (after != std::string::npos) {
    const std::size_t column = width_of(text.substr(0, after));
    if (column <= most) return column;
  }
  return first > kIndent ? first : first + kIndent;
}

}  // namespace

std::size_t terminal_columns(int fd) {
  if (::isatty(fd) == 0) return kNoLimit;
  winsize size = {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kUsualColumns;
}

std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); i = next_of(text, i)) width += text[i] != '\033';
  return width;
}

std::string cut_line(const std::string& line, std::size_t columns) {
  std::string cut;
  std::size_t used = 0;
  for (std::size_t i = 0, end; i < line.size(); i = end) {
    end = next_of(line, i);
    if (line[i] == '\033' || used++ < columns) cut += line.substr(i, end - i);
  }
  return cut;
}

std::string shortened(const std::string& text, std::size_t columns) {
  const std::size_t width = width_of(text);
  if (width <= columns) return text;
  if (columns <= sizeof kGap) return cut_line(text, columns);
  // The end of a path tells more than its beginning.
  const std::size_t kept = columns - (sizeof kGap - 1), at_end = (2 * kept + 2) / 3;
  std::size_t tail = 0;
  for (std::size_t skipped = 0; skipped < width - at_end; ++skipped) tail = next_of(text, tail);
  return cut_line(text, kept - at_end) + kGap + text.substr(tail);
}

std::string wrapped(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  const std::string indent(indent_of(text, columns / 2), ' ');
  std::string out, line;
  bool has_word = false;
  for (std::size_t i = 0, end; i < text.size(); i = end) {
    end = std::min(text.find(' ', text.find_first_not_of(' ', i)), text.size());
    std::string word = text.substr(i, end - i);  // with the blanks before it
    if (has_word && width_of(line) + width_of(word) > columns) {
      out += line + "\n";
      line = indent;
      word.erase(0, word.find_first_not_of(' '));
    }
    line += word;
    has_word = true;
  }
  return out + line;
}

void print_text(const std::string& text) {
  fmt::print("{}\n", wrapped(text, terminal_columns(STDOUT_FILENO)));
}

}  // namespace zazen
