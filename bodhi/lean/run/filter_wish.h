// FilterWish: the value of ZAZEN_FILTER, and its effect on one dataset (D24). Lean.
#pragma once
#include <cstring>

#include "bodhi/lean/frames/table.h"

namespace zazen {

// kAuto: the datasets' keys decide. kOn: the same, and the user guarantees that every rank has
// the shim. kRequire: a job that cannot be divided ends in MPI_Init.
enum class FilterWish : std::uint32_t { kAuto, kOn, kOff, kRequire };

inline FilterWish filter_wish(const char* value) {
  if (value == nullptr) return FilterWish::kAuto;
  if (std::strcmp(value, "on") == 0) return FilterWish::kOn;
  if (std::strcmp(value, "off") == 0) return FilterWish::kOff;
  return std::strcmp(value, "require") == 0 ? FilterWish::kRequire : FilterWish::kAuto;
}

// Whether ZAZEN_DATASETS names this dataset; kNobody: the variable names none.
enum class Named : std::uint32_t { kNobody, kThisOne, kOthers };

// A dataset that is named is divided under `require`, whatever its key says.
inline FilterMode wanted_filter(FilterWish wish, Named named, FilterMode key) {
  if (wish == FilterWish::kOff || named == Named::kOthers) return FilterMode::kOff;
  if (wish != FilterWish::kRequire) return key;
  const bool wanted = key != FilterMode::kOff || named == Named::kThisOne;
  return wanted ? FilterMode::kRequire : FilterMode::kOff;
}

// ZAZEN_DIVISION: what `zazenctl run` finds in the configuration, for ranks that find no table.
// "off"; or "on" or "require", a blank, and the datasets as text: "/sim1, /sim2".
inline constexpr char kDivisionVariable[] = "ZAZEN_DIVISION";

}  // namespace zazen
