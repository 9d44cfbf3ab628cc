// Output that fits a terminal: its width, and text that is shortened or wrapped to it. Output
// that goes elsewhere, to a file or a pipe, stays as it is.
//
// Widths count code points, which is right for the names people use. Escape sequences take no
// column.
#pragma once
#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <utility>

namespace zazen {

inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

// The columns of the terminal behind the descriptor; 80 if it does not say; kNoLimit if it is
// none.
std::size_t terminal_columns(int fd);

std::size_t width_of(const std::string& text);
// Cuts the end off.
std::string cut_line(const std::string& line, std::size_t columns);
// Leaves a middle part out: "/proj.../run7".
std::string shortened(const std::string& text, std::size_t columns);
// Breaks a line between words. What follows is indented as the text after a label is ("copy "),
// else a little. A longer word stays whole, so that a path can be copied.
std::string wrapped(const std::string& text, std::size_t columns);

// A line on stdout, wrapped if that is a terminal.
void print_text(const std::string& text);
template <class... Values>
void print_line(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace zazen
