// Settings: the environment variables of a rank, read once, with secure_getenv.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bodhi/lean/run/filter_wish.h"
#include "bodhi/lean/system/first_stderr.h"
#include "coord/sets/domain.h"

namespace zazen {

enum class ProtocolChoice { kExchange, kPaper };  // ZAZEN_PROTOCOL

struct Settings {
  FilterWish filter = FilterWish::kAuto;                // ZAZEN_FILTER
  ProtocolChoice protocol = ProtocolChoice::kExchange;  // rank 0's counts
  Selection selection;  // ZAZEN_BEGIN, ZAZEN_END, ZAZEN_STRIDE; rank 0's count
  std::optional<std::vector<std::string>> datasets;  // ZAZEN_DATASETS; nothing: all
  std::string report;                                // ZAZEN_REPORT; "": none
  bool talkative = false;                            // ZAZEN_LOG is info or debug
  std::string log_file;                              // ZAZEN_LOG_FILE; "": stderr
  std::string temporary = "/tmp";                    // TMPDIR
};

Settings settings_from_environment();

// The effect of the settings on a dataset with this key.
FilterMode effective_filter(const Settings& settings, const TableDataset& dataset);

// Paths separated by ':', without '/' at their ends; empty ones are left out.
std::vector<std::string> split_paths(const std::string& text);

// Prints each line with its newline, in one write. To stderr, if that is the same file as at
// the start of the process, as far as this is known; failures are ignored.
void say_only_to(const FirstStderr* first);
void say(const std::vector<std::string>& lines);
// Prints to the log, if the settings ask for it.
void say_if_asked(const Settings& settings, const std::vector<std::string>& lines);

}  // namespace zazen
