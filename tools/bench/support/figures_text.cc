#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "tools/bench/support/figures_json.h"

namespace zazen {
namespace {

using Figures = nlohmann::ordered_json;
using Column = std::vector<std::string>;

std::string text_of(const Figures& value) {
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_number_unsigned()) return format_count(value.get<std::uint64_t>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The words of a key, one below the other.
Column heading_of(const std::string& key) {
  Column words(1);
  for (char letter : key) {
    letter == '_' ? words.emplace_back() : words.back() += letter;
  }
  return words;
}

void print_table(const Figures& rows) {
  std::vector<Column> columns;
  std::vector<std::string> keys;
  for (const Figures& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  std::size_t lines = 0;
  for (const std::string& key : keys) {
    columns.push_back(heading_of(key));
    lines = std::max(lines, columns.back().size());
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    columns[i].insert(columns[i].begin(), lines - columns[i].size(), {});
    for (const Figures& row : rows) {
      columns[i].push_back(row.contains(keys[i]) ? text_of(row[keys[i]]) : "");
    }
  }
  for (std::size_t line = 0; line < lines + rows.size(); ++line) {
    std::string text;
    for (const Column& column : columns) {
      const std::size_t width = std::ranges::max(column, {}, &std::string::size).size();
      text += fmt::format("{:>{}}  ", column[line], width);
    }
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
}

}  // namespace

void print_figures_text(const Figures& figures) {
  if (figures.is_array()) return print_table(figures);
  for (const auto& [key, value] : figures.items()) {
    if (!value.is_structured()) {
      fmt::print("{:28} {:>14}\n", key, text_of(value));
    } else {
      fmt::print("\n{}\n", key);
      print_figures_text(value);
    }
  }
}

}  // namespace zazen
