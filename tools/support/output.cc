#include "tools/support/output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/report.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::size_t kShortestColumn = 12;  // of a table on a narrow terminal

void print_message(const char* severity, const std::string& message, const std::string& hint) {
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  auto say = [&](const std::string& text) {
    fmt::print(stderr, "{}\n", wrapped(text, columns));
  };
  say(fmt::format("zazenctl: {}: {}", severity, printable(message)));
  if (!hint.empty()) say("hint: " + printable(hint));
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

void print_note(const std::string& message) {
  print_message("note", message, {});
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

std::vector<std::size_t> TextTable::widths_for(std::size_t columns) const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::size_t all = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
  while (all > columns) {
    std::size_t widest = 0, width = kShortestColumn;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!right_[i] && widths[i] > width) width = widths[widest = i];
    }
    if (width == kShortestColumn) break;
    --widths[widest];
    --all;
  }
  return widths;
}

std::vector<std::string> TextTable::lines(std::size_t columns) const {
  std::vector<std::string> lines;
  const std::vector<std::size_t> widths = widths_for(columns);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = shortened(row[i], widths[i]);
      const std::string padding(widths[i] - width_of(cell), ' ');
      if (i > 0) line += "  ";
      line += right_[i] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

void TextTable::print() const {
  for (const std::string& line : lines(terminal_columns(STDOUT_FILENO)))
    fmt::print("{}\n", line);
}

}  // namespace zazen
