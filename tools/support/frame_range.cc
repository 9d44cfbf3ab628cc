#include "tools/support/frame_range.h"

#include <algorithm>
#include <charconv>

#include "tools/support/target.h"

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

Result<std::vector<Order>> orders_of(const Config& config,
                                     const std::vector<std::string>& paths,
                                     const std::string& range, const std::string& option) {
  Result<FrameRange> parsed = parse_range(range);
  if (!parsed) return parsed.error();
  std::vector<Order> orders;
  auto add_dataset = [&](const std::string& shown, const DatasetConfig& dataset) {
    FrameRange part = *parsed;
    const bool has_companions = dataset.name.companions().count() != 0;
    if (!range.empty() && has_companions) part.last = std::min(part.last, kFirstCompanion - 1);
    orders.push_back({shown, &dataset, part, false});
  };
  for (const std::string& path : paths) {
    Result<Target> target = resolve_target(config, path);
    if (!target) return target.error();
    if (!target->frame) {
      add_dataset(path, *target->dataset);
    } else if (range.empty()) {
      orders.push_back({path, target->dataset, {*target->frame, *target->frame}, true});
    } else {
      return Error{EINVAL, path + ": a frame; " + option + " goes with datasets", {}};
    }
  }
  if (paths.empty()) {
    for (const DatasetConfig& dataset : config.datasets) add_dataset(dataset.path, dataset);
  }
  return orders;
}

}  // namespace zazen
