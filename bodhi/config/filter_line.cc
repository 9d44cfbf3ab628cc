#include "bodhi/config/filter_line.h"

#include <fstream>
#include <iterator>
#include <string_view>

namespace zazen {
namespace {

constexpr std::string_view kKey = "filter", kValue = "require";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first);
}

bool line_requires(std::string_view line) {
  line = without_blanks(line);
  if (!line.starts_with(kKey)) return false;
  line = without_blanks(line.substr(kKey.size()));
  if (!line.starts_with('=')) return false;
  line = without_blanks(line.substr(1));
  if (!line.starts_with('"') && !line.starts_with('\'')) return false;
  return line.substr(1).starts_with(kValue);
}

}  // namespace

bool says_filter_require(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (line_requires(std::string_view(text).substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

bool file_says_filter_require(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return says_filter_require({std::istreambuf_iterator<char>(stream), {}});
}

}  // namespace zazen
