// The figures of every benchmark: for programs one object with its schema_version first
// (bodhi/lean/run/report.h), for people tables.
#pragma once
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bodhi/lean/run/report.h"

namespace zazen {

// A list of cases becomes {"cases": [...]}.
inline void print_figures_json(const nlohmann::ordered_json& figures) {
  nlohmann::ordered_json object = {{"schema_version", kSchemaVersion}};
  if (figures.is_array()) {
    object["cases"] = figures;
  } else {
    object.update(figures);
  }
  fmt::print("{}\n", object.dump(2));
}

// Rows become a table with a column for each key; other figures a line each.
void print_figures_text(const nlohmann::ordered_json& figures);

}  // namespace zazen
