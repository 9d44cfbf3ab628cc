// The environment belongs to the program: invalid values count as not set. The shim has
// reported them (preload/process/settings.cc).
#include "coord/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/quiet_signals.h"
#include "bodhi/lean/system/variables.h"

namespace zazen {
namespace {

const FirstStderr* first_stderr = nullptr;

std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void write_lines(int fd, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  // One write, so that the lines of several programs do not mix. A short write is not repeated:
  // there is no place to report a failure.
  QuietSignals quiet;
  [[maybe_unused]] ssize_t written = ::write(fd, text.data(), text.size());
}

// All three are valid, or none is used.
Selection read_selection() {
  Selection selection;
  std::uint64_t begin = 0, end = 0;
  const std::string first = variable("ZAZEN_BEGIN"), last = variable("ZAZEN_END"),
                    stride = variable("ZAZEN_STRIDE");
  if (!first.empty()) {
    if (!read_number(first.c_str(), &begin)) return {};
    selection.begin = begin;
  }
  if (!last.empty()) {
    if (!read_number(last.c_str(), &end) || end < begin) return {};
    selection.end = end;
  }
  if (!stride.empty() &&
      (!read_number(stride.c_str(), &selection.stride) || selection.stride == 0))
    return {};
  return selection;
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
  settings.filter = filter_wish(::secure_getenv("ZAZEN_FILTER"));
  if (variable("ZAZEN_PROTOCOL") == "paper") settings.protocol = ProtocolChoice::kPaper;
  if (const std::string datasets = variable("ZAZEN_DATASETS"); !datasets.empty())
    settings.datasets = split_paths(datasets);
  settings.selection = read_selection();
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

void say_only_to(const FirstStderr* first) {
  first_stderr = first;
}

void say(const std::vector<std::string>& lines) {
  if (first_stderr != nullptr && !first_stderr->is_there()) return;
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
