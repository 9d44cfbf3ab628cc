// Output for people: results on stdout, messages on stderr, one form for errors, tables with
// aligned columns. Colour appears only on a terminal, and is never the only sign of anything.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

enum ExitCode : int { kDone = 0, kFailed = 1, kUsage = 2, kNoDaemon = 3, kUnhealthy = 4 };

// "zazenctl: error: MESSAGE", then "hint: HINT" if there is one.
void print_error(const std::string& message, const std::string& hint = {});
// The same for a command line that makes no sense. Returns kUsage.
int usage_error(const Error& error);
void print_warning(const std::string& message, const std::string& hint = {});
void print_note(const std::string& message);

// An object, with its schema_version first (bodhi/lean/run/report.h).
void print_json(const nlohmann::ordered_json& object);
// The same as one line.
std::string json_line(const nlohmann::ordered_json& object);
// One line of valid UTF-8, whatever the bytes of a path are: a part of a larger output.
std::string compact_json(const nlohmann::ordered_json& value);

// Control characters and backslashes become \xNN, so that a name cannot send them to a
// terminal.
std::string printable(const std::string& text);

enum class Colour { kGood, kBad };
std::string coloured(const std::string& text, Colour colour);  // on stdout

std::string format_duration(std::uint64_t seconds);  // "0:42", "3:05:00", "3d 04:12"
std::string plural(std::uint64_t count, const std::string& noun);  // "1 frame", "2,000 frames"

// Rows of text, printed with two spaces between columns. The titles come first. A title that
// begins with '>', which is not printed, has a column of figures, aligned on the right. Where
// the columns of a terminal do not suffice, the longest texts lose their middle.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> titles);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::vector<std::string> lines(std::size_t columns) const;
  void print() const;

 private:
  std::vector<std::size_t> widths_for(std::size_t columns) const;

  std::vector<bool> right_;                     // by column
  std::vector<std::vector<std::string>> rows_;  // the titles are the first
};

}  // namespace zazen
