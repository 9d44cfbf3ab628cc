// zazenctl, the command line tool. This file parses the command line; each command is in a file
// of its own. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 unhealthy (status -x,
// doctor); for run see run.cc.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "bodhi/config/config.h"
#include "tools/commands/commands.h"
#include "tools/commands/completion.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr int kRunUsage = 125;  // run keeps the other numbers for its program

constexpr std::size_t kHelpColumns = 80;

constexpr char kExitCodes[] =
    "\n\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 the daemon does not answer,\n"
    "4 unhealthy (status -x, doctor). With --nodes: 1 one node failed, 3 none answers.";

// The words for CLI11, and those after "--", which belong to the program of `run`.
struct CommandLine {
  std::vector<std::string> words;
  std::string command;                // the first word that is no option
  std::vector<std::string> trailing;  // for run only
  bool separated = false;
};

CommandLine take_apart(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (line.command == "run" && word == "--") {
      line.separated = true;
      line.trailing.assign(argv + i + 1, argv + argc);
      break;
    }
    bool value_of_config = !line.words.empty() && line.words.back() == "--config";
    if (line.command.empty() && !word.starts_with("-") && !value_of_config) line.command = word;
    line.words.push_back(std::move(word));
  }
  return line;
}

// A command that was chosen: its options, and the function that they are for.
struct Command {
  CommonOptions* options;
  std::function<int()> run;
};
using Commands = std::map<std::string, Command>;

template <class Options>
CLI::App* add_command(CLI::App& app, Commands& commands, const char* name, const char* sentence,
                      const char* example, Options& options, int (*run)(const Options&)) {
  commands[name] = {&options, [&options, run] { return run(options); }};
  CLI::App* command = app.add_subcommand(name, sentence);
  command->group("Commands");
  command->allow_extras();  // zazenctl() reports them
  command->add_option("--config", options.config, "The configuration file")->type_name("FILE");
  command->add_flag("--json", options.json, "Print JSON");
  command->footer(std::string("Example:\n  ") + example);
  return command;
}

void add_paths(CLI::App* command, std::vector<std::string>& paths, const char* what,
               bool is_required = false) {
  command->add_option("PATH", paths, what)->type_name("")->required(is_required);
}

void add_frames(CLI::App* command, std::string& frames) {
  command->add_option("--frames", frames, "Only these sequence numbers")->type_name("A-B");
}

void add_kinds(CLI::App* command, KindOptions& options) {
  command->add_flag("--pushed", options.natives, "Only frames that were pushed");
  command->add_flag("--fetched", options.aliens, "Only frames that were fetched on a miss");
}

void add_nodes(CLI::App* command, NodesOptions& options, bool has_all = true) {
  CLI::Option* nodes =
      command
          ->add_option("--nodes", options.nodes,
                       "These nodes instead of this one, one line each: names with ranges, "
                       "such as n[0-39],m1:7117, or \"all\"")
          ->type_name("LIST");
  if (has_all) {
    command
        ->add_flag("--all", options.all_nodes,
                   "All nodes: the peers of the configuration, else Slurm's")
        ->excludes(nodes);
  }
  command->add_option("--timeout", options.timeout, "How long a node may be silent")
      ->type_name("TIME")
      ->capture_default_str();
}

// CLI11 leaves lines as long as they come.
class NarrowHelp : public CLI::Formatter {
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
    std::string help;
    for (std::string line; std::getline(lines, line);) {
      help += wrapped(line, kHelpColumns) + "\n";
    }
    return help;
  }
};

class RunHelp : public NarrowHelp {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: zazenctl run [OPTIONS] -- PROGRAM [ARGUMENTS]\n";
  }
};

// The options of all commands; one of them is chosen.
struct Invocation {
  InitOptions init;
  DaemonOptions start, stop, reload;
  AddOptions add;
  StatusOptions status;
  LsOptions ls;
  EvictOptions evict;
  PinOptions pin;
  PinOptions unpin;
  PushOptions push;
  WarmOptions warm;
  TopOptions top;
  VerifyOptions verify;
  RunOptions run;
  ReportOptions report;
  ServeOptions serve;
  ExplainOptions explain;
  DoctorOptions doctor;
  std::string shell;  // of completion
};

void describe(CLI::App& app, Invocation& chosen, std::optional<std::string>& config,
              Commands& commands) {
  app.set_version_flag("--version", "zazenctl " ZAZEN_VERSION);
  app.add_option("--config", config,
                 "The configuration file (default: $ZAZEN_CONFIG, ~/.config/zazen/zazen.toml, "
                 "/etc/zazen/zazen.toml)")
      ->type_name("FILE");
  app.footer(std::string("Example:\n  zazenctl --config zazen.toml status") + kExitCodes);
  app.require_subcommand(1);
  app.formatter(std::make_shared<NarrowHelp>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("REQUIRED", "");
  app.get_formatter()->label("Needs", "with");

  CLI::App* init = add_command(app, commands, "init",
                               "Look at a directory of frames and write a configuration for "
                               "it, or add it to the one there is.",
                               "zazenctl init /sim1", chosen.init, init_command);
  init->add_option("DIR", chosen.init.directory, "The directory of the frames")
      ->type_name("")
      ->required();
  init->add_option(
          "--frames", chosen.init.frames,
          "Their names, such as \"frame-{seq:06}.xtc\" (default: what most files are named)")
      ->type_name("TEMPLATE");
  init->add_option(
          "--cache", chosen.init.cache,
          "Where a new configuration puts the copies (default: the local disk with most room)")
      ->type_name("DIR");
  init->add_flag("--dry-run", chosen.init.dry_run, "Only print the configuration");

  CLI::App* add = add_command(app, commands, "add",
                              "Make a directory of yours a dataset of this node at once, where "
                              "the operator allows that (user_datasets).",
                              "zazenctl add /sim1", chosen.add, zazen::add_command);
  add->add_option("DIR", chosen.add.directory, "The directory of the frames")
      ->type_name("")
      ->required();
  CLI::Option* template_of_add =
      add->add_option("--frames", chosen.add.frames,
                      "Their names, such as \"frame-{seq:06}.xtc\" (default: what most files "
                      "are named)")
          ->type_name("TEMPLATE");
  add->add_flag("--remove", chosen.add.removes, "Take it away again")
      ->excludes(template_of_add);

  CLI::App* status =
      add_command(app, commands, "status",
                  "Show whether the daemon of this node is healthy, and what it holds.",
                  "zazenctl --config zazen.toml status", chosen.status, status_command);
  status->add_flag("-x", chosen.status.problems_only,
                   "Print only problems; exit 4 if there are any");
  status->add_flag("-p", chosen.status.exact_bytes, "Print exact numbers of bytes");
  status->add_flag("--prometheus", chosen.status.prometheus,
                   "Print metrics, for node_exporter's textfile collector");

  add_nodes(status, chosen.status.nodes);

  add_command(app, commands, "start",
              "Start the daemon of this node in the background, unless it runs.",
              "zazenctl --config zazen.toml start", chosen.start, start_command);
  add_command(app, commands, "stop",
              "Have the daemon of this node end, and wait for that; programs go on.",
              "zazenctl stop", chosen.stop, stop_command);
  add_command(app, commands, "reload",
              "Have the daemon read its configuration again, and say what changed.",
              "zazenctl reload", chosen.reload, reload_command);

  CLI::App* top =
      add_command(app, commands, "top",
                  "Watch what this node does: hits, misses, copying, by dataset; q ends it.",
                  "zazenctl top --interval 5s", chosen.top, top_command);
  top->add_option("--interval", chosen.top.interval, "How often to look")
      ->type_name("TIME")
      ->capture_default_str();
  top->add_flag("--once", chosen.top.once, "One interval only; exit 3 if no daemon answers");

  add_nodes(top, chosen.top.nodes);

  CLI::App* ls = add_command(app, commands, "ls",
                             "List the datasets of this node, or the frames that it holds.",
                             "zazenctl ls /sim1 --pushed", chosen.ls, ls_command);
  add_paths(ls, chosen.ls.paths, "Datasets, or frames in them");
  add_kinds(ls, chosen.ls);
  ls->add_flag("-l", chosen.ls.details,
               "Also whether it is pinned, the origin's modification time, the checksum");

  add_nodes(ls, chosen.ls.nodes);

  CLI::App* evict =
      add_command(app, commands, "evict",
                  "Drop copies from this node's cache; the origin is never touched.",
                  "zazenctl evict /sim1 --frames 0-99 --dry-run", chosen.evict, evict_command);
  add_paths(evict, chosen.evict.paths, "Datasets, or frames in them");
  add_kinds(evict, chosen.evict);
  add_frames(evict, chosen.evict.frames);
  evict->add_flag("--all", chosen.evict.all, "Everything on this node");
  evict->add_flag("--dry-run", chosen.evict.dry_run, "Only say what would go, and how much");

  add_nodes(evict, chosen.evict.nodes, false);

  auto add_pin = [&](const char* name, const char* sentence, const char* example,
                     PinOptions& options, int (*run)(const PinOptions&)) {
    CLI::App* command = add_command(app, commands, name, sentence, example, options, run);
    command->add_option("DIR", options.path, "A dataset, or a frame in it")
        ->type_name("")
        ->required();
    command->add_option("RANGE", options.range, "Only these sequence numbers: A-B")
        ->type_name("");
    add_nodes(command, options.nodes);
  };
  add_pin("pin", "Keep frames: they are never evicted until they are unpinned.",
          "zazenctl pin /sim1 0-99", chosen.pin,
          [](const PinOptions& options) { return pin_command(options, true); });
  add_pin("unpin", "Let pinned frames be evicted again.", "zazenctl unpin /sim1", chosen.unpin,
          [](const PinOptions& options) { return pin_command(options, false); });

  CLI::App* push =
      add_command(app, commands, "push",
                  "Copy a dataset's frames to the nodes' caches, each to one node in turn.",
                  "zazenctl push /sim1", chosen.push, push_command);
  push->add_option("DIR", chosen.push.directories, "Datasets")->type_name("")->required();
  push->add_option("--to", chosen.push.peers,
                   "unix:RUNTIME or HOST:PORT; may be repeated (default: the peers of the "
                   "configuration, "
                   "else this node)")
      ->type_name("NODE")
      ->allow_extra_args(false);
  push->add_flag("--dry-run", chosen.push.dry_run, "Only say how many frames would be pushed");

  CLI::App* warm =
      add_command(app, commands, "warm",
                  "Bring frames into this node's cache before anybody asks for them.",
                  "zazenctl warm /sim1 --frames 0-999", chosen.warm, warm_command);
  add_paths(warm, chosen.warm.paths, "Datasets, or frames in them", true);
  add_frames(warm, chosen.warm.frames);
  warm->add_option("--jobs", chosen.warm.jobs, "How many frames are under way at a time")
      ->type_name("N")
      ->capture_default_str();
  warm->add_flag("--dry-run", chosen.warm.dry_run,
                 "Only say how many frames would be brought, and about how much");

  add_nodes(warm, chosen.warm.nodes);

  CLI::App* verify =
      add_command(app, commands, "verify",
                  "Read the copies and compare their checksums; drop those that are bad.",
                  "zazenctl verify /sim1 --frames 0-99", chosen.verify, verify_command);
  add_paths(verify, chosen.verify.paths,
            "Datasets, or frames in them (default: everything on this node)");
  add_frames(verify, chosen.verify.frames);

  add_nodes(verify, chosen.verify.nodes);

  CLI::App* run = add_command(
      app, commands, "run",
      "Run a program with its frames from the cache; works with mpirun on either side.",
      "mpirun -n 8 zazenctl run --verbose -- ./analyse /sim1", chosen.run, run_command);
  run->add_option("--dataset", chosen.run.datasets,
                  "Divide only this dataset among the ranks; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  CLI::Option* divide = run->add_flag(
      "--divide", chosen.run.divide,
      "Divide the frames among the ranks; a job that cannot be divided ends in MPI_Init");
  run->add_flag("--no-divide", chosen.run.no_divide, "Every rank sees all frames")
      ->excludes(divide);
  run->add_option("--report", chosen.run.report, "Write a report of the job as JSON")
      ->type_name("FILE");
  CLI::Option* trace =
      run->add_flag("--trace", chosen.run.trace,
                    "Print at the end which lines of the program opened and read frames");
  run->add_option("--trace-file", chosen.run.trace_file,
                  "Append the trace to this file; %p in its name is the process's number")
      ->type_name("FILE")
      ->needs(trace);
  run->add_flag("--verbose", chosen.run.verbose, "Say at start and end what the cache did");
  run->add_flag("--quiet", chosen.run.quiet, "No summary of the job at its end");
  CLI::Option* dry_run = run->add_flag("--dry-run", chosen.run.dry_run,
                                       "Only print the environment that would be set");
  run->get_option("--json")->needs(dry_run)->description("Print JSON, with --dry-run");
  run->formatter(std::make_shared<RunHelp>());
  run->prefix_command();

  CLI::App* report = add_command(
      app, commands, "report",
      "List the recent jobs, say of one who read what and how long it took, or compare two.",
      "zazenctl report last", chosen.report, report_command);
  report
      ->add_option("JOB", chosen.report.jobs,
                   "The beginning of a job's number, or: last (default: a list; two: compare)")
      ->type_name("");
  report
      ->add_option("--from", chosen.report.from,
                   "Also what another node's runtime directory has; may be repeated")
      ->type_name("RUNTIME")
      ->allow_extra_args(false);
  report
      ->add_option("--html", chosen.report.html,
                   "Write a page of one job (default: the last one); - is standard output")
      ->type_name("FILE");

  CLI::App* serve = add_command(
      app, commands, "serve",
      "Show nodes, datasets, jobs and problems in a browser on this machine; ^C ends it.",
      "zazenctl serve --all", chosen.serve, serve_command);
  serve
      ->add_option("--port", chosen.serve.port,
                   "Listen there on loopback (default: any free port)")
      ->type_name("N");
  add_nodes(serve, chosen.serve.nodes);

  CLI::App* explain = add_command(
      app, commands, "explain", "Say what the shim does with a path, and which rule decides.",
      "zazenctl explain /sim1/f7 /sim1", chosen.explain, explain_command);
  add_paths(explain, chosen.explain.paths, "Frames, directories, any files", true);
  explain
      ->add_option("--view", chosen.explain.view,
                   "As a rank with this view sees it (default: $ZAZEN_VIEW)")
      ->type_name("DIR");

  CLI::App* doctor = add_command(app, commands, "doctor",
                                 "Examine this node, and whether the shim reaches a program.",
                                 "zazenctl doctor ./analyse", chosen.doctor, doctor_command);
  doctor->add_option("PROGRAM", chosen.doctor.program, "A program, by path or name")
      ->type_name("");

  CLI::App* completion = app.add_subcommand(
      "completion", "Print the script by which a shell completes zazenctl's words.");
  completion->group("Commands");
  completion->add_option("SHELL", chosen.shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer("Example:\n  source <(zazenctl completion bash)");
}

CommandWords words_of(const CLI::App& command, const std::string& name) {
  CommandWords words{name, command.get_description(), {}};
  for (const CLI::Option* option : command.get_options()) {
    OptionWords one{{}, option->get_description(), {}};
    for (const std::string& letter : option->get_snames()) one.names.push_back("-" + letter);
    for (const std::string& word : option->get_lnames()) one.names.push_back("--" + word);
    if (option->get_items_expected_max() > 0) one.value = option->get_type_name();
    if (!one.names.empty()) words.options.push_back(std::move(one));
  }
  return words;
}

int completion_command(const CLI::App& app, const std::string& shell) {
  std::vector<CommandWords> commands = {words_of(app, "")};
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(words_of(*command, command->get_name()));
  }
  std::fputs(completion_script(shell, commands).c_str(), stdout);
  return kDone;
}

int usage_error(const CommandLine& line, const std::string& reason, const std::string& hint) {
  print_error(reason, hint);
  return line.command == "run" ? kRunUsage : kUsage;
}

std::string help_command(const CommandLine& line) {
  return "zazenctl " + (line.command.empty() ? "" : line.command + " ") + "--help";
}

std::string spelling_hint(const std::string& word, const std::vector<std::string>& known,
                          const std::string& otherwise) {
  std::string likely = closest_spelling(word, known);
  return likely.empty() ? otherwise : "did you mean " + likely + "?";
}

// The option for frames that go by another word in the protocol; else the word itself.
std::string option_for(const std::string& word) {
  if (word == "--natives") return "--pushed";
  if (word == "--aliens") return "--fetched";
  return word;
}

int unknown_option(const CommandLine& line, const CLI::App& parser, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : parser.get_options()) known.push_back(option->get_name());
  return usage_error(
      line, word + ": no such option",
      spelling_hint(option_for(word), known, help_command(line) + " lists them"));
}

// Errors that CLI11 would report less clearly: a word that is no command or no option.
std::optional<int> misspelt(const CLI::App& app, const CommandLine& line) {
  if (line.words.empty()) {
    return usage_error(line, "no command named", "zazenctl --help lists them");
  }
  if (line.words.front().starts_with("-")) {
    std::string word = line.words.front().substr(0, line.words.front().find('='));
    if (app.get_option_no_throw(word) == nullptr) return unknown_option(line, app, word);
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
  }
  if (line.command.empty() ||
      std::find(commands.begin(), commands.end(), line.command) != commands.end()) {
    return std::nullopt;
  }
  return usage_error(line, line.command + ": no such command",
                     spelling_hint(line.command, commands, "zazenctl --help lists them"));
}

int zazenctl(int argc, char** argv) {
  CommandLine line = take_apart(argc, argv);
  Invocation chosen;
  std::optional<std::string> config;
  CLI::App app("See and steer the cache of trajectory frames on this node.", "zazenctl");
  Commands commands;
  describe(app, chosen, config, commands);

  // "help" and "version" work as words, too: "help status" is "status --help".
  if (line.command == "help" || line.command == "version") {
    line.words.erase(std::ranges::find(line.words, line.command));
    line.words.push_back("--" + line.command);
    line.command = line.words.front().starts_with("-") ? "" : line.words.front();
  }
  if (std::optional<int> outcome = misspelt(app, line)) return *outcome;
  try {
    app.parse(std::vector<std::string>(line.words.rbegin(), line.words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);
    }
    return usage_error(line, error.what(), help_command(line) + " shows what there is");
  }
  const CLI::App& command = *app.get_subcommand(line.command);
  std::vector<std::string> extra = command.remaining();
  if (!extra.empty() && extra.front().starts_with("-")) {
    return unknown_option(line, command, extra.front());
  }
  if (!extra.empty() && line.command != "run") {
    return usage_error(line, extra.front() + ": not expected here",
                       help_command(line) + " shows what is");
  }

  if (line.command == "completion") return completion_command(app, chosen.shell);
  const Command& given = commands.at(line.command);
  if (!given.options->config) given.options->config = config;
  if (line.command == "run") {
    chosen.run.command = std::move(extra);
    if (line.separated && !chosen.run.command.empty()) chosen.run.command.push_back("--");
    for (std::string& word : line.trailing) chosen.run.command.push_back(std::move(word));
  }
  return given.run();
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  return zazen::zazenctl(argc, argv);
}
