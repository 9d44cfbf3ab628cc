// The ranks that one launcher starts on a node share a record, which is named after the
// launcher's process. The first rank makes it. It is written under another name and then
// renamed, so no rank sees a part of it. A rank whose parent is a rank, too (a script), has a
// record of its own: the script may run several programs.
#include "tools/commands/new_run.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/run/run_record.h"
#include "bodhi/lean/system/launcher.h"
#include "bodhi/lean/system/quiet_signals.h"
#include "tools/support/shim_environment.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_a_rank(pid_t pid) {
  const std::string text = file_content("/proc/" + std::to_string(pid) + "/environ");
  std::vector<const char*> variables;
  for (std::size_t at = 0; at < text.size(); at += std::strlen(text.c_str() + at) + 1) {
    variables.push_back(text.c_str() + at);
  }
  variables.push_back(nullptr);
  return launcher_place(variables.data()).rank >= 0;
}

// The start time of a process, in the kernel's ticks; "" if unknown.
std::string start_of(pid_t pid) {
  constexpr int kFieldsBefore = 20;  // after the name, which ends with ')'
  const std::string text = file_content("/proc/" + std::to_string(pid) + "/stat");
  std::size_t at = text.rfind(')');
  for (int i = 0; i < kFieldsBefore && at != std::string::npos; ++i)
    at = text.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

// The name of the record that this process shares with the launcher's other ranks; "" if none.
std::string shared_name(const LauncherPlace& place) {
  const pid_t launcher = ::getppid();
  if (place.rank < 0 || is_a_rank(launcher)) return "";
  const std::string start = start_of(launcher);
  return start.empty() ? "" : "ranks-" + std::to_string(launcher) + "-" + start;
}

std::string words_of(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
  return words;
}

std::uint64_t key_of(const NewRun& run, const std::string& directory,
                     const LauncherPlace& place) {
  std::string text = directory + '\n' + std::to_string(place.size);
  for (const std::string& word : run.command) text += '\n' + word;
  return text_key(text.c_str());
}

struct Unmap {
  void operator()(RunRecord* record) const { unmap_run_record(record); }
};
using MappedRun = std::unique_ptr<RunRecord, Unmap>;

// The ended runs of the same command that opened frames, the latest first.
std::vector<EarlierRun> earlier_runs(const std::string& runtime, std::uint64_t key) {
  std::vector<std::pair<std::int64_t, EarlierRun>> found;
  std::error_code ignored;
  for (const char* folder : {kReportsDirectory, kJobsDirectory}) {
    for (const auto& entry : fs::directory_iterator(runtime + "/" + folder, ignored)) {
      MappedRun record(map_run_record(entry.path().c_str()));
      if (record == nullptr || record->command_key != key || record->is_over == 0) continue;
      const RunFigures figures = figures_of(*record);
      if (figures.opens() == 0) continue;
      found.push_back({record->started_ns,
                       {record->ended_ns - record->started_ns, figures.frames, figures.hits,
                        figures.opens()}});
    }
  }
  std::ranges::sort(found, std::ranges::greater(), [](const auto& run) { return run.first; });
  std::vector<EarlierRun> latest;
  for (const auto& [started, run] : found) {
    if (latest.size() < kMaxEarlierRuns) latest.push_back(run);
  }
  return latest;
}

bool write_record(const std::string& directory, const RunRecord& record) {
  const QuietSignals quiet;  // a limit on the size of files
  UniqueFd file(::open((directory + "/" + kRunFile).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() &&
         raw_write_all(file.get(), reinterpret_cast<const char*>(&record), kRunFront) == 0 &&
         ::ftruncate(file.get(), sizeof record) == 0;
}

void remove_record(const std::string& directory) {
  ::unlink((directory + "/" + kRunFile).c_str());
  ::rmdir(directory.c_str());
}

void copy_text(const std::string& text, char* out, std::size_t capacity) {
  std::memcpy(out, text.data(), std::min(text.size(), capacity - 1));
}

// Makes a new record and returns its directory; "" if that fails.
std::string make_record(const NewRun& run, const RunPlace& place, const LauncherPlace& rank,
                        bool is_shared) {
  std::string directory = run.runtime + "/" + kJobsDirectory + "/run-XXXXXX";
  if (directory.size() >= kMaxPath || ::mkdtemp(directory.data()) == nullptr) return "";
  std::error_code ignored;
  const std::string where = fs::current_path(ignored).string();
  MappedRun record(make_run_record(place));
  if (record == nullptr) return remove_record(directory), "";
  record->magic = kRunMagic;
  record->version = kRunVersion;
  record->owner_pid = is_shared ? ::getppid() : ::getpid();
  record->number = place.number;
  record->command_key = key_of(run, where, rank);
  record->runs = 1;
  copy_text(words_of(run.command), record->command, sizeof record->command);
  copy_text(where, record->directory, sizeof record->directory);
  std::ranges::copy(earlier_runs(run.runtime, record->command_key), record->earlier);
  if (!write_record(directory, *record)) return remove_record(directory), "";
  return directory;
}

// Joins the record that another rank of the launcher made.
bool join(const std::string& directory, RunPlace& place) {
  MappedRun record(map_run_record(directory.c_str()));
  if (record == nullptr || directory.size() >= sizeof place.directory) return false;
  record->runs.fetch_add(1);
  place.number = record->number;
  place.started_ns = record->started_ns;
  copy_text(directory, place.directory, sizeof place.directory);
  return true;
}

// Several ranks may do this at the same time.
std::string share_record(const NewRun& run, const std::string& name, const LauncherPlace& rank,
                         RunPlace& place) {
  std::string there = run.runtime + "/" + kJobsDirectory + "/" + name;
  const std::string ended = run.runtime + "/" + kReportsDirectory + "/" + name;
  if (join(there, place) || join(ended, place)) return place.directory;
  const std::string made = make_record(run, place, rank, true);
  if (made.empty()) return "";
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, there.c_str(), RENAME_NOREPLACE) == 0) {
    return there;
  }
  remove_record(made);
  return join(there, place) ? there : "";
}

std::uint64_t new_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = mix_bits(static_cast<std::uint64_t>(wall_clock_ns()) ^
                      static_cast<std::uint64_t>(::getpid()) << 40);
  }
  return number == 0 ? 1 : number;
}

}  // namespace

std::string begin_run(const NewRun& run) {
  const LauncherPlace rank = launcher_place(environ);
  RunPlace place;
  if (rank.rank >= 0 && read_run_place(variable(kRunVariable).c_str(), &place) &&
      place.voice == RunVoice::kStartsRanks) {
    return "";
  }
  place = {};
  place.number = new_number();
  place.started_ns = wall_clock_ns();
  place.pid = ::getpid();
  if (!run.is_quiet && rank.speaks()) {
    place.voice = run.starts_ranks ? RunVoice::kStartsRanks : RunVoice::kSpeaks;
  }
  const std::string name = shared_name(rank);
  const std::string directory = name.empty() ? make_record(run, place, rank, false)
                                             : share_record(run, name, rank, place);
  copy_text(directory, place.directory, sizeof place.directory);
  char value[kMaxRunValue];
  return {value, write_run_place(place, value)};
}

void abandon_run(const std::string& value) {
  RunPlace place;
  if (!read_run_place(value.c_str(), &place) || place.directory[0] == '\0') return;
  MappedRun record(map_run_record(place.directory));
  if (record != nullptr && record->runs.fetch_sub(1) == 1) remove_record(place.directory);
}

}  // namespace zazen
