#include "bodhi/config/template_guess.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>
#include <unordered_map>

#include "bodhi/lean/frames/frame_name.h"

namespace zazen {
namespace {

constexpr std::size_t kMostDigits = 20;

// The names that differ in one number only, counted by that number's digits.
struct Family {
  std::array<std::size_t, kMostDigits + 1> padded = {};  // with a leading zero
  std::array<std::size_t, kMostDigits + 1> plain = {};

  // {seq:0W} matches W digits, and more without a leading zero. {seq} is {seq:01}.
  std::size_t matches(std::size_t width) const {
    std::size_t sum = padded[width];
    for (std::size_t i = width; i <= kMostDigits; ++i) sum += plain[i];
    return sum;
  }
  std::size_t best_width() const {
    std::size_t best = 1;
    for (std::size_t width = 2; width <= kMostDigits; ++width) {
      if (matches(width) > matches(best)) best = width;
    }
    return best;
  }
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// In "x.h5" the 5 belongs to the extension; in "x.5" it is the number.
bool is_in_extension(const std::string& name, std::size_t at) {
  const std::size_t dot = name.rfind('.', at);
  return dot != std::string::npos && name.find_first_of("./", dot + 1) == std::string::npos &&
         std::isalpha(static_cast<unsigned char>(name[dot + 1])) != 0;
}

// The name with '\0' for one run of digits.
using Families = std::unordered_map<std::string, Family>;

void add_name(const std::string& name, Families* families) {
  for (std::size_t begin = 0; begin < name.size();) {
    if (!is_digit(name[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < name.size() && is_digit(name[end])) ++end;
    const std::size_t digits = end - begin;
    if (digits <= kMostDigits) {
      Family& family = (*families)[name.substr(0, begin) + '\0' + name.substr(end)];
      const bool is_padded = digits > 1 && name[begin] == '0';
      ++(is_padded ? family.padded : family.plain)[digits];
    }
    begin = end;
  }
}

}  // namespace

TemplateGuess guess_template(std::span<const std::string> names) {
  Families families;
  for (const std::string& name : names) add_name(name, &families);

  // The most matches; then outside of an extension; then further to the right. Deterministic.
  const Families::value_type* best = nullptr;
  std::size_t best_matches = 0;
  for (const Families::value_type& one : families) {
    const std::size_t matches = one.second.matches(one.second.best_width());
    auto rank = [](std::size_t count, const std::string& key) {
      const std::size_t at = key.find('\0');
      return std::tuple(count, !is_in_extension(key, at), at);
    };
    const bool is_better = best == nullptr ||
                           rank(matches, one.first) > rank(best_matches, best->first) ||
                           (rank(matches, one.first) == rank(best_matches, best->first) &&
                            one.first < best->first);
    if (!is_better) continue;
    best = &one;
    best_matches = matches;
  }
  if (best == nullptr) return {};

  const std::size_t width = best->second.best_width();
  TemplateGuess guess;
  guess.frames = best->first;
  guess.frames.replace(guess.frames.find('\0'), 1,
                       width == 1 ? "{seq}" : "{seq:0" + std::to_string(width) + "}");
  FrameName compiled;
  const char* why = "";
  // A name may have a "{seq}" of its own.
  if (!FrameName::parse(guess.frames.data(), guess.frames.size(), &compiled, &why)) return {};
  guess.matches = static_cast<std::size_t>(std::ranges::count_if(names, [&](const auto& name) {
    FrameSeq seq;
    return compiled.match(name.data(), name.size(), &seq);
  }));
  return guess.matches > 0 ? guess : TemplateGuess();
}

}  // namespace zazen
