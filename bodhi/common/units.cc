// Exact: "1.8TB" is 1,800,000,000,000, without the rounding of a double. Sizes and times have
// the same form: a number, then a unit.
#include "bodhi/common/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace zazen {
namespace {

struct Unit {
  const char* name;  // in lower case
  std::uint64_t value;
};
constexpr std::array<Unit, 13> kSizes = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1'000},
                                          {"mb", 1'000'000},
                                          {"gb", 1'000'000'000},
                                          {"tb", 1'000'000'000'000},
                                          {"pb", 1'000'000'000'000'000},
                                          {"kib", 1ULL << 10},
                                          {"mib", 1ULL << 20},
                                          {"gib", 1ULL << 30},
                                          {"tib", 1ULL << 40},
                                          {"pib", 1ULL << 50},
                                          {"eb", 1'000'000'000'000'000'000}}};
constexpr std::array<Unit, 5> kTimes = {
    {{"ms", 1}, {"s", 1'000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::size_t kMaxFractionDigits = 18;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Takes decimal digits from the front; false if there are none or too many.
bool take_digits(std::string_view& text, unsigned __int128* value, std::size_t* count) {
  *value = 0;
  *count = 0;
  while (*count < text.size() && is_digit(text[*count])) {
    *value = *value * 10 + static_cast<unsigned>(text[*count] - '0');
    if (*value > UINT64_MAX) return false;
    ++*count;
  }
  text.remove_prefix(*count);
  return *count > 0;
}

Result<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units,
                                     const char* noun, const char* hint) {
  const std::string whole(text);
  const Error malformed{EINVAL, "'" + whole + "' is not a " + noun, hint};
  const Error too_large{ERANGE, "'" + whole + "' is too large", {}};
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);

  unsigned __int128 integer, fraction = 0;
  std::uint64_t scale = 1;
  std::size_t count;
  if (!take_digits(text, &integer, &count)) return count > 0 ? too_large : malformed;
  bool has_fraction = !text.empty() && text.front() == '.';
  if (has_fraction) {
    text.remove_prefix(1);
    if (!take_digits(text, &fraction, &count) || count > kMaxFractionDigits) return malformed;
    for (std::size_t i = 0; i < count; ++i) scale *= 10;
  }
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto unit = std::find_if(units.begin(), units.end(),
                           [&](const Unit& known) { return name == known.name; });
  if (unit == units.end()) return malformed;
  if (has_fraction && unit->value == 1) return malformed;

  unsigned __int128 value = integer * unit->value + fraction * unit->value / scale;
  if (value > UINT64_MAX) return too_large;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizes, "size", "write it as 1.8TB, 64MiB or 4096");
}

Result<std::uint64_t> parse_time_ms(std::string_view text) {
  return parse_quantity(text, kTimes, "time", "write it as 30s, 10min or 1h");
}

std::string format_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kNames = {"kB", "MB", "GB", "TB", "PB", "EB"};
  std::uint64_t unit = 1000;
  std::size_t name = 0;
  // Three digits, rounded; 999.6 kB is written 1.00 MB.
  while (name + 1 < kNames.size() && bytes >= unit * 1000 - unit / 2) {
    unit *= 1000;
    ++name;
  }
  auto rounded = [bytes](std::uint64_t step) {
    return bytes / step + (bytes % step >= step / 2);
  };
  std::uint64_t hundredths = rounded(unit / 100);
  if (hundredths < 1000) {
    return fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, kNames[name]);
  }
  std::uint64_t tenths = rounded(unit / 10);
  if (tenths < 1000) return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kNames[name]);
  return fmt::format("{} {}", rounded(unit), kNames[name]);
}

std::string format_count(std::uint64_t number) {
  std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

}  // namespace zazen
