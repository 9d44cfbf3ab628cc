// zazenctl run: starts a program with the shim in front of it, and becomes that program. So
// signals and the exit status are the program's own. Failures of run itself are 125; 126 and
// 127 are the shell's for "not executable" and "not found".
//
// It works behind mpirun (mpirun -n 8 zazenctl run -- prog) and in front of it. In front, ranks
// on this host inherit the environment. For other hosts it sets a parameter by which Open MPI
// forwards the environment. That parameter does not mix with the user's own -x options.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bodhi/config/filter_line.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/run/filter_wish.h"
#include "bodhi/lean/run/run_record.h"
#include "bodhi/lean/system/launcher.h"
#include "bodhi/lean/system/runtime_line.h"
#include "coord/settings.h"
#include "tools/commands/commands.h"
#include "tools/commands/new_run.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/shim_environment.h"
#include "tools/support/target.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

constexpr int kRunFailed = 125, kNotExecutable = 126, kNotFound = 127;

constexpr char kForwardVariable[] = "OMPI_MCA_mca_base_env_list";

bool speaks_for_job() {
  return launcher_place(environ).speaks();
}

// With an invalid value the job would not be what the user asked for. Where Zazen is off, no
// other value matters.
bool values_make_sense() {
  if (variable("ZAZEN_DISABLE") == "1") return true;
  const std::vector<WrongValue> wrong = wrong_values();
  for (const WrongValue& each : wrong) {
    if (!speaks_for_job()) break;
    print_error(each.name + "=" + each.value + ": not a value of this variable",
                "it may be " + each.accepted);
  }
  return wrong.empty();
}

void warn_of_misspelt_variables() {
  for (const MisspeltVariable& each : misspelt_variables()) {
    print_warning(each.name + ": unknown variable, without effect",
                  "did you mean " + each.likely + "?");
  }
}

Status add_datasets(const Node& node, const std::vector<std::string>& arguments,
                    Environment& environment) {
  std::string list;
  for (const std::string& argument : arguments) {
    Result<const DatasetConfig*> dataset = resolve_dataset(node.config, argument);
    if (!dataset) return dataset.error();
    const std::string& path = (*dataset)->path;
    if (path.find(':') != std::string::npos) {
      return Error{EINVAL, path + ": --dataset cannot name a path with a colon",
                   "leave --dataset out: then every dataset with filter = true is divided"};
    }
    list += (list.empty() ? "" : ":") + path;
  }
  if (!list.empty()) environment["ZAZEN_DATASETS"] = list;
  return Done{};
}

// Checks the user's own ZAZEN_DATASETS: a job with a path that is no dataset would not be
// divided.
Status check_named_datasets(const Node& node) {
  for (const std::string& path : split_paths(variable("ZAZEN_DATASETS"))) {
    if (std::ranges::count(node.config.datasets, path, &DatasetConfig::path) != 0) continue;
    return Error{ENOENT, "ZAZEN_DATASETS: " + path + ": no dataset of " + node.config.file,
                 "zazenctl status lists the datasets"};
  }
  return Done{};
}

bool requires_division(const RunOptions& options) {
  if (options.divide || options.no_divide) return options.divide;
  return filter_wish(variable("ZAZEN_FILTER").c_str()) == FilterWish::kRequire;
}

// Adds --divide and --no-divide, and the part of the configuration for ranks that find no
// table. The shim takes no value longer than a path.
void add_division(const Node& node, const RunOptions& options, Environment& environment) {
  constexpr char kMore[] = ", ...";
  constexpr std::size_t kMostText = kMaxPath - sizeof "require" - sizeof kMore;
  if (options.divide) environment["ZAZEN_FILTER"] = "require";
  if (options.no_divide) environment["ZAZEN_FILTER"] = "off";
  auto value = [&](const char* name) {
    auto chosen = environment.find(name);
    return chosen == environment.end() ? variable(name) : chosen->second;
  };
  const FilterWish wish = filter_wish(value("ZAZEN_FILTER").c_str());
  const std::vector<std::string> named = split_paths(value("ZAZEN_DATASETS"));
  FilterMode most = FilterMode::kOff;
  std::string paths;
  std::vector<DatasetConfig> datasets(node.config.datasets.begin(), node.config.datasets.end());
  datasets.insert(datasets.end(), node.config.patterns.begin(), node.config.patterns.end());
  for (const DatasetConfig& dataset : datasets) {
    Named how = named.empty()                                           ? Named::kNobody
                : std::ranges::find(named, dataset.path) != named.end() ? Named::kThisOne
                                                                        : Named::kOthers;
    FilterMode filter = wanted_filter(wish, how, dataset.filter);
    if (filter == FilterMode::kOff) continue;
    most = std::max(most, filter);
    if (paths.ends_with(kMore)) continue;
    std::string longer = paths + (paths.empty() ? " " : ", ") + dataset.path;
    paths = longer.size() <= kMostText ? longer : paths.empty() ? " ..." : paths + kMore;
  }
  environment[kDivisionVariable] = (most == FilterMode::kRequire ? "require"
                                    : most == FilterMode::kOn    ? "on"
                                                                 : "off") +
                                   paths;
}

bool is_mpi_launcher(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  std::string name = fs::path(command.front()).stem().string();  // mpirun.openmpi, too
  return name == "mpirun" || name == "mpiexec" || name == "orterun";
}

// Sets the variables that Open MPI forwards to other hosts; MPICH's hydra forwards everything.
// The runtime directory is each host's own: there the shim takes it from the configuration,
// unless the user chose one.
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
    print_note("for ranks on other hosts add" + advice);
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
  if (shim_is_disabled()) {
    if (requires_division(options))
      return Error{EINVAL,
                   "run: the job must be divided (--divide or ZAZEN_FILTER=require), and "
                   "ZAZEN_DISABLE=" +
                       variable("ZAZEN_DISABLE") + " switches Zazen off",
                   "unset ZAZEN_DISABLE, or run it with --no-divide"};
  } else if (Status named = options.datasets.empty() ? check_named_datasets(node) : Done{};
             !named) {
    return named.error();
  }
  if (Status added = add_datasets(node, options.datasets, environment); !added) {
    return added.error();
  }
  add_division(node, options, environment);
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
  const bool starts_ranks = is_mpi_launcher(options.command);
  if (!options.dry_run && !shim_is_disabled()) {
    const std::string job =
        begin_run({node.runtime, options.command, options.quiet, starts_ranks});
    if (!job.empty()) environment[kRunVariable] = job;
  }
  if (starts_ranks) forward_to_other_hosts(options, environment);
  return environment;
}

void say_what_to_expect(const Node& node, bool verbose) {
  if (shim_is_disabled()) {
    return print_note("ZAZEN_DISABLE=1, the program runs without Zazen");
  }
  const Table* table = map_table(node.runtime.c_str());
  if (table == nullptr) {
    const bool is_other = other_table_version(node.runtime.c_str()) != 0;
    return print_note(
        (is_other ? "zazend is of another version at " : "no daemon answers at ") +
        node.runtime + "; the program reads from the origin");
  }
  if (!verbose) return unmap_table(table);
  std::string datasets;
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    if (table->datasets[i].removed != 0) continue;
    datasets += (datasets.empty() ? " " : ", ") + std::string(table->datasets[i].path);
  }
  print_note("node " + std::string(table->node_name) + " caches" + datasets);
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

int become(const std::vector<std::string>& command, const std::string& job) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  execvp(words[0], words.data());
  int reason = errno;
  abandon_run(job);
  print_error(command.front() + ": " + std::strerror(reason),
              reason == ENOENT ? "a program of this directory is named ./NAME"
              : reason == EACCES
                  ? "a script needs the right to be executed, or its interpreter "
                    "in front of it: chmod u+x, or python3 SCRIPT"
                  : "");
  return reason == ENOENT ? kNotFound : kNotExecutable;
}

int fail(const Error& error) {
  print_error(error.context, error.hint);
  return kRunFailed;
}

// A file that is not there was named by mistake. Any other error is none of the user's.
bool is_fault_of_file(const Error& error) {
  return error.code != ENOENT && error.code != ENOTDIR && error.code != EISDIR;
}

// One process of each host warns, because each host has a configuration of its own.
bool speaks_for_host() {
  const LauncherPlace place = launcher_place(environ);
  return place.speaks() || place.local_rank == 0;
}

std::string check_command(const std::string& file) {
  return "check it: zazend --check-config --config " + shell_quoted(file);
}

// The configuration has an error: the daemon that still runs has the one of before.
std::optional<Node> node_despite(const Error& error, const RunOptions& options) {
  const Result<std::string> file = find_config(options.config);
  char scanned[kMaxPath] = {};
  std::string runtime = options.config ? "" : variable("ZAZEN_RUNTIME");
  if (runtime.empty() && scan_runtime_file(file->c_str(), scanned, sizeof scanned) != 0) {
    runtime = scanned;
  }
  std::optional<Node> node;
  if (!runtime.empty()) node = node_of_daemon(*file, runtime);
  if (node && speaks_for_host()) {
    print_warning(error.context + "; zazend still has the configuration of before",
                  check_command(*file));
  }
  return node;
}

// A job that must be divided has another result without Zazen (D24).
int run_without_zazen(const Error& error, const RunOptions& options) {
  if (requires_division(options)) return fail(error);
  const Result<std::string> file = find_config(options.config);
  const bool is_off = filter_wish(variable("ZAZEN_FILTER").c_str()) == FilterWish::kOff;
  if (!options.no_divide && !is_off && file_says_filter_require(*file)) {
    return fail({error.code, error.context,
                 "a dataset has filter = \"require\"; zazenctl run --no-divide runs it all "
                 "the same"});
  }
  if (speaks_for_host()) {
    print_warning(error.context + "; the program runs without Zazen", check_command(*file));
  }
  if (options.dry_run) {
    print_plan(options, {});
    return kDone;
  }
  return become(options.command, "");
}

}  // namespace

int run_command(const RunOptions& options) {
  if (options.command.empty() && !options.dry_run) {
    print_error("run: no program named", "for example: zazenctl run -- ./analyse /sim1");
    return kRunFailed;
  }
  if (speaks_for_job()) warn_of_misspelt_variables();
  if (!values_make_sense()) return kRunFailed;
  Result<Node> loaded = load_node(options.config);
  if (!loaded) {
    if (!is_fault_of_file(loaded.error())) return fail(loaded.error());
    std::optional<Node> served = node_despite(loaded.error(), options);
    if (!served) return run_without_zazen(loaded.error(), options);
    loaded = std::move(*served);
  }
  const Node& node = *loaded;
  Result<Environment> environment = environment_for(node, options);
  if (!environment) return fail(environment.error());
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
  return become(options.command, (*environment)[kRunVariable]);
}

}  // namespace zazen
