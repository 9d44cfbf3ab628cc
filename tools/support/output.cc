// Widths count code points, which is right for the names people use.
#include "tools/support/output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/report.h"

namespace zazen {
namespace {

void print_message(const char* severity, const std::string& message, const std::string& hint) {
  fmt::print(stderr, "zazenctl: {}: {}\n", severity, printable(message));
  if (!hint.empty()) fmt::print(stderr, "hint: {}\n", printable(hint));
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

nlohmann::ordered_json with_version(const nlohmann::ordered_json& object) {
  nlohmann::ordered_json versioned = {{"schema_version", kSchemaVersion}};
  versioned.update(object);
  return versioned;
}

}  // namespace

void print_error(const std::string& message, const std::string& hint) {
  print_message("error", message, hint);
}

int usage_error(const Error& error) {
  print_error(error.context, error.hint);
  return kUsage;
}

void print_warning(const std::string& message, const std::string& hint) {
  print_message("warning", message, hint);
}

void print_json(const nlohmann::ordered_json& object) {
  fmt::print("{}\n", with_version(object).dump(
                         2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string json_line(const nlohmann::ordered_json& object) {
  return compact_json(with_version(object));
}

std::string compact_json(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string printable(const std::string& text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\') {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string coloured(const std::string& text, Colour colour) {
  static const bool enabled = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  if (!enabled) return text;
  return fmt::format("\033[{}m{}\033[0m", colour == Colour::kGood ? 32 : 31, text);
}

std::string format_duration(std::uint64_t seconds) {
  std::uint64_t days = seconds / 86'400, hours = seconds / 3'600 % 24;
  std::uint64_t minutes = seconds / 60 % 60;
  if (days > 0) return fmt::format("{}d {:02}:{:02}", days, hours, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, seconds % 60);
  return fmt::format("{}:{:02}", minutes, seconds % 60);
}

std::string plural(std::uint64_t count, const std::string& noun) {
  return format_count(count) + " " + noun + (count == 1 ? "" : "s");
}

TextTable::TextTable(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

std::vector<std::string> TextTable::lines() const {
  std::vector<std::string> lines;
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += right_[i] ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

void TextTable::print() const {
  for (const std::string& line : lines()) fmt::print("{}\n", line);
}

}  // namespace zazen
