#include "tools/support/frame_range.h"

#include <algorithm>
#include <charconv>

namespace zazen {
namespace {

bool parse_number(const std::string& text, FrameSeq* number) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace

Result<FrameRange> parse_range(const std::string& text) {
  FrameRange range;
  if (text.empty()) return range;
  std::size_t dash = text.find('-');
  std::string first = text.substr(0, dash);
  std::string last = dash == std::string::npos ? first : text.substr(dash + 1);
  bool numbers = (first.empty() || parse_number(first, &range.first)) &&
                 (last.empty() || parse_number(last, &range.last));
  if (!numbers || (first.empty() && last.empty()) || range.first > range.last) {
    return Error{EINVAL, text + ": not a range of sequence numbers",
                 "for example 0-99, or 100- for all from 100 on"};
  }
  return range;
}

FrameRange range_in(const DatasetConfig& dataset, const std::string& text,
                    const FrameRange& range) {
  const bool has_companions = dataset.name.companions().count() != 0;
  if (text.empty() || !has_companions) return range;
  return {range.first, std::min(range.last, kFirstCompanion - 1)};
}

}  // namespace zazen
