#include "bodhi/lean/system/variables.h"

#include <cstring>

namespace zazen {
namespace {

// The length of the choice that begins here.
std::size_t choice_length(const char* choices) {
  const char* bar = std::strchr(choices, '|');
  return bar == nullptr ? std::strlen(choices) : static_cast<std::size_t>(bar - choices);
}

}  // namespace

bool read_number(const char* text, std::uint64_t* number) {
  if (*text == '\0') return false;
  *number = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    const auto digit = static_cast<std::uint64_t>(*text - '0');
    if (__builtin_mul_overflow(*number, std::uint64_t{10}, number) ||
        __builtin_add_overflow(*number, digit, number)) {
      return false;
    }
  }
  return true;
}

bool value_is_accepted(const KnownVariable& variable, const char* value) {
  std::uint64_t number = 0;
  switch (variable.accepts) {
    case Accepts::kText:
      return true;
    case Accepts::kNumber:
      return read_number(value, &number);
    case Accepts::kPositive:
      return read_number(value, &number) && number != 0;
    case Accepts::kChoice:
      break;
  }
  const std::size_t length = std::strlen(value);
  for (const char* choice = variable.choices; *choice != '\0';) {
    const std::size_t size = choice_length(choice);
    if (size == length && std::memcmp(choice, value, size) == 0) return true;
    choice += size + (choice[size] == '|' ? 1 : 0);
  }
  return false;
}

AcceptedValues accepted_values(const KnownVariable& variable) {
  AcceptedValues values = {};
  char* out = values.text;
  auto add = [&out](const char* text, std::size_t size) {
    std::memcpy(out, text, size);
    out += size;
  };
  if (variable.accepts == Accepts::kNumber) add("a whole number", 14);
  if (variable.accepts == Accepts::kPositive) add("a whole number from 1 on", 24);
  for (const char* choice = variable.choices; *choice != '\0';) {
    const std::size_t size = choice_length(choice);
    const bool is_last = choice[size] == '\0';
    if (choice != variable.choices) is_last ? add(" or ", 4) : add(", ", 2);
    add(choice, size);
    choice += size + (is_last ? 0 : 1);
  }
  return values;
}

}  // namespace zazen
