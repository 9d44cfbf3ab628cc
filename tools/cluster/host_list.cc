#include "tools/cluster/host_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace zazen {
namespace {

Error wrong(std::string_view part, std::string_view why) {
  return {EINVAL, fmt::format("{}: {}", part, why), "for example --nodes n[0-39],login:7117"};
}

std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || stop != end || error != std::errc()) return {};
  return number;
}

// At commas that are not within brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']' && depth > 0) --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    if (i > begin) parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// "0-39" or "7": the numbers have as many digits as the first one.
Status add_numbers(std::string_view range, std::vector<std::string>* out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
  const auto from = number_of(first), to = number_of(last);
  if (!from || !to || *from > *to) return wrong(range, "not a range of numbers");
  if (*to - *from >= kMostNodes) return wrong(range, "too many nodes");
  for (std::uint32_t number = *from; number <= *to; ++number) {
    out->push_back(fmt::format("{:0{}}", number, first.size()));
  }
  return Done{};
}

Status expand(std::string_view part, std::vector<std::string>* out) {
  std::vector<std::string> begun = {""};
  while (!part.empty()) {
    const std::size_t open = part.find('[');
    for (std::string& one : begun) one += part.substr(0, open);
    if (open == part.npos) break;
    const std::size_t close = part.find(']', open);
    if (close == part.npos) return wrong(part, "a bracket is not closed");
    std::vector<std::string> numbers;
    for (std::string_view range : split(part.substr(open + 1, close - open - 1))) {
      if (Status added = add_numbers(range, &numbers); !added) return added;
    }
    if (numbers.empty() || begun.size() * numbers.size() > kMostNodes) {
      return wrong(part, numbers.empty() ? "no numbers within the brackets" : "too many nodes");
    }
    std::vector<std::string> longer;
    for (const std::string& one : begun) {
      for (const std::string& number : numbers) longer.push_back(one + number);
    }
    begun = std::move(longer);
    part.remove_prefix(close + 1);
  }
  out->insert(out->end(), begun.begin(), begun.end());
  return Done{};
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  for (std::string_view part : split(list)) {
    if (part.starts_with("unix:") || part.starts_with("[")) {
      hosts.emplace_back(part);
    } else if (Status done = expand(part, &hosts); !done) {
      return done.error();
    }
    if (hosts.size() > kMostNodes) return wrong(part, "too many nodes");
  }
  if (hosts.empty()) return wrong("--nodes", "no node is named");
  std::vector<std::string> once;
  for (std::string& host : hosts) {
    if (std::ranges::find(once, host) == once.end()) once.push_back(std::move(host));
  }
  return once;
}

}  // namespace zazen
