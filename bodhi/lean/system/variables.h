// The environment variables of Zazen and their valid values: one table for the shim, for
// `zazenctl run` and for `zazenctl doctor`. Lean.
//
// An empty value counts as not set. The code that uses a path checks the file there.
#pragma once
#include <cstddef>
#include <cstdint>

namespace zazen {

enum class Accepts : std::uint8_t { kText, kChoice, kNumber, kPositive };

struct KnownVariable {
  char name[18];
  char choices[24];  // of kChoice, separated by '|'
  Accepts accepts;
};

inline constexpr KnownVariable kVariables[] = {
    {"ZAZEN_CONFIG", "", Accepts::kText},
    {"ZAZEN_RUNTIME", "", Accepts::kText},
    {"ZAZEN_FILTER", "on|off|require", Accepts::kChoice},
    {"ZAZEN_LOG", "off|warn|info|debug", Accepts::kChoice},
    {"ZAZEN_LOG_FILE", "", Accepts::kText},
    {"ZAZEN_DISABLE", "0|1", Accepts::kChoice},
    {"ZAZEN_REPORT", "", Accepts::kText},
    {"ZAZEN_VIEW", "", Accepts::kText},
    {"ZAZEN_JOB", "", Accepts::kText},
    {"ZAZEN_DATASETS", "", Accepts::kText},
    {"ZAZEN_DIVISION", "", Accepts::kText},
    {"ZAZEN_TRACE_FILE", "", Accepts::kText},
    {"ZAZEN_BEGIN", "", Accepts::kNumber},
    {"ZAZEN_END", "", Accepts::kNumber},
    {"ZAZEN_STRIDE", "", Accepts::kPositive},
    {"ZAZEN_PROTOCOL", "exchange|paper", Accepts::kChoice},
};

// Decimal digits and nothing else, below 2^64.
bool read_number(const char* text, std::uint64_t* number);

bool value_is_accepted(const KnownVariable& variable, const char* value);

// The valid values as a message to the user: "on, off or require", "a whole number".
struct AcceptedValues {
  char text[48];
};
AcceptedValues accepted_values(const KnownVariable& variable);

// The frames that a job selects: BEGIN, END and STRIDE are all used, or none of them.
inline bool selects_frames(const KnownVariable& variable) {
  return variable.accepts == Accepts::kNumber || variable.accepts == Accepts::kPositive;
}

// Calls wrong(variable, value, accepted) for each invalid value. find(name) returns a
// variable's value, null if it is not set.
template <class Find, class Wrong>
void check_variables(Find find, Wrong wrong) {
  const char *begin = nullptr, *end = nullptr;
  for (const KnownVariable& variable : kVariables) {
    const char* value = find(variable.name);
    if (value == nullptr || *value == '\0') continue;
    if (!value_is_accepted(variable, value)) {
      wrong(variable, value, accepted_values(variable).text);
      continue;
    }
    if (variable.accepts != Accepts::kNumber) continue;
    const bool is_begin = variable.name[sizeof "ZAZEN_" - 1] == 'B';
    (is_begin ? begin : end) = value;
    std::uint64_t first = 0, last = 0;
    if (begin != nullptr && end != nullptr && read_number(begin, &first) &&
        read_number(end, &last) && last < first) {
      wrong(variable, value, "ZAZEN_BEGIN or more");
    }
  }
}

}  // namespace zazen
