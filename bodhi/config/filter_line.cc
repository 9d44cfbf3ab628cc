#include "bodhi/config/filter_line.h"

#include <fstream>
#include <iterator>
#include <string_view>

#include "bodhi/config/included_files.h"

namespace zazen {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first);
}

// The string of the first line  KEY = "..."  from *at on, which moves behind it; "" if there is
// none.
std::string_view next_value(std::string_view text, std::string_view key, std::size_t* at) {
  while (*at < text.size()) {
    const std::size_t end = std::min(text.find('\n', *at), text.size());
    std::string_view line = without_blanks(text.substr(*at, end - *at));
    *at = end + 1;
    if (!line.starts_with(key)) continue;
    line = without_blanks(line.substr(key.size()));
    if (!line.starts_with('=')) continue;
    line = without_blanks(line.substr(1));
    if (!line.starts_with('"') && !line.starts_with('\'')) continue;
    const std::size_t last = line.find(line.front(), 1);
    if (last != line.npos && last > 1) return line.substr(1, last - 1);
  }
  return {};
}

}  // namespace

bool says_filter_require(const std::string& text) {
  std::size_t at = 0;
  for (std::string_view value; !(value = next_value(text, "filter", &at)).empty();) {
    if (value == "require") return true;
  }
  return false;
}

bool file_says_filter_require(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (says_filter_require(text)) return true;
  std::size_t at = 0;
  const auto included = read_included(file, std::string(next_value(text, "include", &at)));
  if (!included) return false;
  for (const IncludedFile& each : *included) {
    if (says_filter_require(each.text)) return true;
  }
  return false;
}

}  // namespace zazen
