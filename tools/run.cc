// zazenctl run: starts a program with the shim in front of it, and becomes that program, so
// that signals and the exit status are its own. Failures of run itself are 125; 126 and 127
// are the shell's for "not executable" and "not found".
//
// It works behind mpirun (mpirun -n 8 zazenctl run -- prog) and in front of it. In front,
// ranks on this host inherit the environment; for other hosts Open MPI is told to forward
// it, by a parameter that does not mix with the user's own -x options.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "bodhi/table.h"
#include "tools/commands.h"
#include "tools/node.h"
#include "tools/output.h"
#include "tools/target.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

constexpr int kRunFailed = 125, kNotExecutable = 126, kNotFound = 127;

constexpr char kForwardVariable[] = "OMPI_MCA_mca_base_env_list";

using Environment = std::map<std::string, std::string>;

const std::vector<std::string>& known_variables() {
  static const std::vector<std::string> names{
      "ZAZEN_CONFIG",  "ZAZEN_RUNTIME", "ZAZEN_FILTER", "ZAZEN_LOG",      "ZAZEN_LOG_FILE",
      "ZAZEN_DISABLE", "ZAZEN_REPORT",  "ZAZEN_VIEW",   "ZAZEN_DATASETS", "ZAZEN_TRACE_FILE"};
  return names;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// One process speaks for a job: rank 0, or a process that is no rank.
bool speaks_for_job() {
  std::string rank = variable("PMIX_RANK");
  return rank.empty() || rank == "0";
}

void warn_of_misspelt_variables() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string name(*entry, std::strcspn(*entry, "="));
    const std::vector<std::string>& known = known_variables();
    if (!name.starts_with("ZAZEN_") ||
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    std::string likely = closest_spelling(name, known);
    if (!likely.empty()) {
      print_warning(name + ": unknown variable, without effect",
                    "did you mean " + likely + "?");
    }
  }
}

Result<std::string> find_shim() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const char* place : {"../preload/libzazen.so", "../lib/zazen/libzazen.so"}) {
    fs::path shim = (self.parent_path() / place).lexically_normal();
    if (access(shim.c_str(), R_OK) == 0) return shim.string();
  }
  return Error{ENOENT,
               "libzazen.so: neither in ../preload nor in ../lib/zazen of " +
                   self.parent_path().string(),
               "build it: cmake --build --preset release"};
}

std::vector<std::string> preloaded_already() {
  std::vector<std::string> words;
  std::string list = variable("LD_PRELOAD");
  for (std::size_t at = 0; (at = list.find_first_not_of(": ", at)) != std::string::npos;) {
    std::size_t end = std::min(list.find_first_of(": ", at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end;
  }
  return words;
}

// The tracing plug-in lies beside the shim and goes in front of it. Inside a run that is
// traced (run --trace mpirun run program) it stays.
Result<std::vector<std::string>> find_preloads(bool trace) {
  constexpr char kPlugin[] = "libzazen-trace.so";
  Result<std::string> shim = find_shim();
  if (!shim) return shim.error();
  for (const std::string& word : preloaded_already()) {
    trace = trace || fs::path(word).filename() == kPlugin;
  }
  if (!trace) return std::vector<std::string>{*shim};
  std::string plugin = fs::path(*shim).replace_filename(kPlugin).string();
  if (access(plugin.c_str(), R_OK) != 0) {
    return Error{errno, plugin + ": " + std::strerror(errno),
                 "build it: cmake --build --preset release"};
  }
  return std::vector<std::string>{plugin, *shim};
}

// The loader splits LD_PRELOAD at blanks and colons. A name without '/' is looked for in
// LD_LIBRARY_PATH, where blanks are no separators.
Status add_preloads(const std::vector<std::string>& preloads, Environment& environment) {
  fs::path directory = fs::path(preloads.front()).parent_path();
  const std::string& path = directory.native();
  bool blanks = path.find_first_of(" \t") != std::string::npos;
  if (path.find_first_of(blanks ? ":;" : ":") != std::string::npos) {
    return Error{EINVAL,
                 path + ": the loader cannot preload from a directory with " +
                     (blanks ? "both blanks and colons" : "a colon") + " in its name",
                 "install Zazen in a directory with a simpler name"};
  }
  std::vector<std::string> words = preloads;
  if (blanks) {
    for (std::string& word : words) word = fs::path(word).filename().string();
    std::string directories = variable("LD_LIBRARY_PATH");
    if (directories != path && !directories.starts_with(path + ":")) {
      environment["LD_LIBRARY_PATH"] = path + (directories.empty() ? "" : ":" + directories);
    }
  }
  for (std::string& word : preloaded_already()) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::string& list = environment["LD_PRELOAD"];
  for (const std::string& word : words) list += (list.empty() ? "" : ":") + word;
  return Done{};
}

Status add_datasets(const Node& node, const std::vector<std::string>& arguments,
                    Environment& environment) {
  std::string list;
  for (const std::string& argument : arguments) {
    Result<const DatasetConfig*> dataset = resolve_dataset(node.config, argument);
    if (!dataset) return dataset.error();
    const std::string& path = (*dataset)->path;
    if (path.find(':') != std::string::npos) {
      return Error{EINVAL, path + ": --dataset cannot name a path with a colon", {}};
    }
    list += (list.empty() ? "" : ":") + path;
  }
  if (!list.empty()) environment["ZAZEN_DATASETS"] = list;
  return Done{};
}

bool is_mpi_launcher(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  std::string name = fs::path(command.front()).filename().string();
  return name == "mpirun" || name == "mpiexec" || name == "orterun";
}

// What Open MPI shall hand to other hosts. The runtime directory is each host's own: there
// the shim takes it from the configuration, unless the user chose one.
void forward_to_other_hosts(const RunOptions& options, Environment& environment) {
  auto uses = [&](const char* word) {
    return std::find(options.command.begin(), options.command.end(), word) !=
           options.command.end();
  };
  std::vector<std::string> names{"LD_PRELOAD"};
  if (environment.contains("LD_LIBRARY_PATH")) names.push_back("LD_LIBRARY_PATH");
  for (const std::string& name : known_variables()) {
    bool chosen = !variable(name.c_str()).empty();
    if (name == "ZAZEN_RUNTIME" ? chosen && !options.config
                                : chosen || environment.contains(name)) {
      names.push_back(name);
    }
  }
  if (uses("-x") || uses("--x") || uses("mca_base_env_list") ||
      !variable(kForwardVariable).empty()) {
    if (!options.verbose) return;
    std::string advice;
    for (const std::string& name : names) advice += " -x " + name;
    fmt::print(stderr, "zazenctl: note: for ranks on other hosts add{}\n", advice);
    return;
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ";") + name;
  environment[kForwardVariable] = list;
}

Result<Environment> environment_for(const Node& node, const RunOptions& options) {
  Environment environment;
  Result<std::vector<std::string>> preloads = find_preloads(options.trace);
  if (!preloads) return preloads.error();
  if (Status added = add_preloads(*preloads, environment); !added) return added.error();
  if (Status added = add_datasets(node, options.datasets, environment); !added) {
    return added.error();
  }
  std::error_code ignored;
  environment["ZAZEN_CONFIG"] = fs::absolute(node.config.file, ignored).string();
  environment["ZAZEN_RUNTIME"] = node.runtime;
  if (!options.report.empty()) {
    environment["ZAZEN_REPORT"] = fs::absolute(options.report, ignored).string();
  }
  if (!options.trace_file.empty()) {
    environment["ZAZEN_TRACE_FILE"] = fs::absolute(options.trace_file, ignored).string();
  }
  if (options.verbose && variable("ZAZEN_LOG") != "debug") environment["ZAZEN_LOG"] = "info";
  if (is_mpi_launcher(options.command)) forward_to_other_hosts(options, environment);
  return environment;
}

void say_what_to_expect(const Node& node, bool verbose) {
  if (variable("ZAZEN_DISABLE") == "1") {
    fmt::print(stderr, "zazenctl: note: ZAZEN_DISABLE=1, the program runs without Zazen\n");
    return;
  }
  const Table* table = map_table(node.runtime.c_str());
  if (table == nullptr) {
    fmt::print(stderr,
               "zazenctl: note: no daemon answers at {}; the program reads from the origin\n",
               printable(node.runtime));
    return;
  }
  if (!verbose) return unmap_table(table);
  fmt::print(stderr, "zazenctl: node {} caches", printable(table->node_name));
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    fmt::print(stderr, "{} {}", i == 0 ? "" : ",", printable(table->datasets[i].path));
  }
  fmt::print(stderr, "\n");
  unmap_table(table);
}

std::string shell_quoted(const std::string& text) {
  if (!text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_@%+=:,./-") == std::string::npos) {
    return text;
  }
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print_plan(const RunOptions& options, const Environment& environment) {
  if (options.json) {
    return print_json({{"environment", environment}, {"command", options.command}});
  }
  for (const auto& [name, value] : environment)
    fmt::print("{}={}\n", name, shell_quoted(value));
  std::string line;
  for (const std::string& word : options.command)
    line += (line.empty() ? "" : " ") + shell_quoted(word);
  if (!line.empty()) fmt::print("{}\n", line);
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  execvp(words[0], words.data());
  int reason = errno;
  print_error(command.front() + ": " + std::strerror(reason));
  return reason == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace

int run_command(const RunOptions& options) {
  if (options.command.empty() && !options.dry_run) {
    print_error("run: no program named", "for example: zazenctl run -- ./analyse /sim1");
    return kRunFailed;
  }
  Node node = load_node_or_exit(options.config, kRunFailed);
  if (speaks_for_job()) warn_of_misspelt_variables();
  Result<Environment> environment = environment_for(node, options);
  if (!environment) {
    print_error(environment.error().context, environment.error().hint);
    return kRunFailed;
  }
  if (options.dry_run) {
    print_plan(options, *environment);
    return kDone;
  }
  if ((options.verbose || options.trace) && speaks_for_job()) {
    say_what_to_expect(node, options.verbose);
  }
  for (const auto& [name, value] : *environment) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) {
      print_error(name + ": " + std::strerror(errno));
      return kRunFailed;
    }
  }
  return become(options.command);
}

}  // namespace zazen
