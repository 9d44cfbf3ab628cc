// The environment belongs to the program: values that make no sense are ignored, in silence
// unless somebody asked for a log. But who named frames and would get others is told always.
#include "coord/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "bodhi/quiet_signals.h"
#include "bodhi/unique_fd.h"

namespace zazen {
namespace {

std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void write_lines(int fd, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  // One write, so that the lines of several programs do not mix. A short one is left short:
  // there is nowhere to complain.
  QuietSignals quiet;
  [[maybe_unused]] ssize_t written = ::write(fd, text.data(), text.size());
}

// A number of decimal digits and nothing else.
bool parse_number(const std::string& text, std::uint64_t* number) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

void read_selection(Settings* settings) {
  Selection selection;
  auto read = [&](const char* name, auto&& take) {
    const std::string text = variable(name);
    std::uint64_t number = 0;
    if (text.empty() || !settings->wrong_selection.empty()) return;
    if (!parse_number(text, &number) || !take(number))
      settings->wrong_selection = std::string(name) + "=" + text + ": not a number of frames";
  };
  read("ZAZEN_BEGIN", [&](FrameSeq number) { return selection.begin = number, true; });
  read("ZAZEN_END", [&](FrameSeq number) { return selection.end = number, true; });
  read("ZAZEN_STRIDE",
       [&](std::uint64_t number) { return selection.stride = number, number != 0; });
  if (settings->wrong_selection.empty() && selection.begin && selection.end &&
      *selection.begin > *selection.end)
    settings->wrong_selection = "ZAZEN_END=" + std::to_string(*selection.end) +
                                ": before ZAZEN_BEGIN=" + std::to_string(*selection.begin);
  if (settings->wrong_selection.empty()) settings->selection = selection;
}

}  // namespace

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> paths;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = text.find(':', begin);
    if (end == std::string::npos) end = text.size();
    std::string path = text.substr(begin, end - begin);
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!path.empty()) paths.push_back(std::move(path));
    begin = end + 1;
  }
  return paths;
}

Settings settings_from_environment() {
  Settings settings;
  const std::string filter = variable("ZAZEN_FILTER");
  if (filter == "on") settings.filter = FilterWish::kOn;
  if (filter == "off") settings.filter = FilterWish::kOff;
  if (filter == "require") settings.filter = FilterWish::kRequire;
  const std::string protocol = variable("ZAZEN_PROTOCOL");
  if (protocol == "paper")
    settings.protocol = ProtocolChoice::kPaper;
  else if (protocol != "exchange")
    settings.unknown_protocol = protocol;
  if (const std::string datasets = variable("ZAZEN_DATASETS"); !datasets.empty())
    settings.datasets = split_paths(datasets);
  read_selection(&settings);
  settings.report = variable("ZAZEN_REPORT");
  const std::string log = variable("ZAZEN_LOG");
  settings.talkative = log == "info" || log == "debug";
  settings.log_file = variable("ZAZEN_LOG_FILE");
  if (std::string temporary = variable("TMPDIR"); temporary.starts_with('/'))
    settings.temporary = temporary;
  return settings;
}

FilterMode effective_filter(const Settings& settings, const TableDataset& dataset) {
  if (dataset.removed != 0) return FilterMode::kOff;
  Named named = Named::kNobody;
  if (settings.datasets)
    named = std::ranges::count(*settings.datasets, dataset.path) != 0 ? Named::kThisOne
                                                                      : Named::kOthers;
  return wanted_filter(settings.filter, named, dataset.filter);
}

void say(const std::vector<std::string>& lines) {
  if (!lines.empty()) write_lines(STDERR_FILENO, lines);
}

void say_if_asked(const Settings& settings, const std::vector<std::string>& lines) {
  if (!settings.talkative || lines.empty()) return;
  if (settings.log_file.empty()) return say(lines);
  UniqueFd file(
      ::open(settings.log_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file.valid()) write_lines(file.get(), lines);
}

}  // namespace zazen
