#include "bodhi/lean/frames/companion_patterns.h"

#include <cstring>

#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

// 1 to 65; 0 if the character is not allowed.
std::uint64_t digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<std::uint64_t>(c - 'A') + 1;
  if (c >= 'a' && c <= 'z') return static_cast<std::uint64_t>(c - 'a') + 27;
  if (c >= '0' && c <= '9') return static_cast<std::uint64_t>(c - '0') + 53;
  return c == '_' ? 63 : c == '.' ? 64 : c == '-' ? 65 : 0;
}

bool is_reserved(const char* name, std::size_t length) {
  for (const char* one : {".", "..", kDatasetStateDirectory}) {
    if (length == std::strlen(one) && std::memcmp(name, one, length) == 0) return true;
  }
  return false;
}

}  // namespace

bool CompanionPatterns::parse(const char* text, std::size_t length, CompanionPatterns* out,
                              const char** why) {
  auto refuse = [why](const char* phrase) {
    *why = phrase;
    return false;
  };
  CompanionPatterns found;
  if (length >= kMaxAlso) return refuse("the patterns are longer than 319 bytes together");
  for (std::size_t i = 0; i < length; ++i) found.text_[i] = text[i];
  for (std::size_t begin = 0; begin < length;) {
    const void* slash = std::memchr(text + begin, '/', length - begin);
    const std::size_t end =
        slash ? static_cast<std::size_t>(static_cast<const char*>(slash) - text) : length;
    const std::size_t i = found.count_, size = end - begin;
    if (i == kMost) return refuse("there are more than 5 patterns");
    if (size == 0 || end + 1 == length) return refuse("a pattern is empty");
    std::size_t star = size;
    for (std::size_t at = 0; at < size; ++at) {
      const auto byte = static_cast<unsigned char>(text[begin + at]);
      if (byte < 0x20 || byte == 0x7f) return refuse("a pattern has a control character");
      if (byte != '*') continue;
      if (star != size) return refuse("a pattern has more than one '*'");
      star = at;
    }
    if (star + 1 == size) return refuse("a pattern ends with '*': say how the names end");
    if (is_reserved(text + begin, size)) return refuse("'.', '..' and '.zazen' are no files");
    found.begin_[i] = static_cast<std::uint16_t>(begin);
    found.length_[i] = static_cast<std::uint16_t>(size);
    found.star_[i] = static_cast<std::uint16_t>(star);
    ++found.count_;
    begin = end + 1;
  }
  *out = found;
  return true;
}

std::size_t CompanionPatterns::longest() const {
  std::size_t most = 0;
  for (std::size_t i = 0; i < count_; ++i) most = length_[i] > most ? length_[i] : most;
  return most;
}

void CompanionPatterns::copy(char* out, std::size_t i, std::size_t from,
                             std::size_t size) const {
  std::memcpy(out, text_ + begin_[i] + from, size);
}

bool CompanionPatterns::fits(std::size_t i, const char* name, std::size_t length,
                             const char** rest, std::size_t* rest_length) const {
  const char* pattern = text_ + begin_[i];
  if (!has_star(i)) return length == length_[i] && std::memcmp(name, pattern, length) == 0;
  const std::size_t before = head(i), after = length_[i] - before - 1u;
  if (length < before + after || std::memcmp(name, pattern, before) != 0 ||
      std::memcmp(name + length - after, pattern + before + 1, after) != 0 ||
      is_reserved(name, length)) {
    return false;
  }
  *rest = name + before;
  *rest_length = length - before - after;
  return true;
}

bool CompanionPatterns::letters_to_number(const char* text, std::size_t length,
                                          std::uint64_t* number) {
  if (length > kMostLetters) return false;
  *number = 0;
  for (std::size_t i = length; i > 0; --i) {
    const std::uint64_t digit = digit_of(text[i - 1]);
    if (digit == 0) return false;
    *number = *number * kBase + digit;
  }
  return true;
}

bool CompanionPatterns::number_to_letters(std::uint64_t number, bool has_star, char* out,
                                          std::size_t* used, std::size_t capacity) {
  if (!has_star) return number == 0;
  for (; number != 0; number /= kBase) {
    if (number % kBase == 0 || *used >= capacity) return false;
    out[(*used)++] = kLetters[number % kBase - 1];
  }
  return true;
}

}  // namespace zazen
