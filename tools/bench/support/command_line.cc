#include "tools/bench/support/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "bodhi/common/units.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

constexpr int kFailed = 1, kUsage = 2, kInterrupted = 128;

void print_error(const std::string& message, const std::string& hint) {
  fmt::print(stderr, "zazen-bench: error: {}\n", message);
  if (!hint.empty()) fmt::print(stderr, "hint: {}\n", hint);
}

std::uint64_t bytes_of(const std::string& option, const std::string& text) {
  Result<std::uint64_t> size = parse_size(text);
  if (size && *size > 0) return *size;
  throw CLI::ValidationError(option, text + " is not a size; 2MB is one");
}

template <class Value>
void add_choice(CLI::App* app, const char* option, const char* type, Value* value,
                const std::vector<std::string>& choices, const char* text) {
  app->add_option(option, *value, text)->type_name(type)->check(CLI::IsMember(choices));
}

}  // namespace

BenchOptions& BenchOptions::number(const char* option, int* value, int least, int most,
                                   const char* text, const char* type) {
  app_->add_option(option, *value, text)
      ->type_name(type)
      ->check(CLI::Range(least, most).description(""));
  return *this;
}

BenchOptions& BenchOptions::seconds(const char* option, double* value, const char* text) {
  app_->add_option(option, *value, text)
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 600.0).description(""));
  return *this;
}

BenchOptions& BenchOptions::frames(std::uint64_t* frames, double least, double most,
                                   const char* text) {
  auto keep = [frames](double count) {
    *frames = static_cast<std::uint64_t>(count);
    if (static_cast<double>(*frames) != count) {
      throw CLI::ValidationError("--frames", "not a whole number");
    }
  };
  app_->add_option_function<double>("--frames", keep, text)
      ->type_name("N")
      ->check(CLI::Range(least, most).description(""));
  return *this;
}

BenchOptions& BenchOptions::size(const char* option, std::uint64_t* bytes, const char* text) {
  auto keep = [=](const std::string& size) { *bytes = bytes_of(option, size); };
  app_->add_option_function<std::string>(option, keep, text)->type_name("SIZE");
  return *this;
}

BenchOptions& BenchOptions::sizes(const char* option, std::vector<std::uint64_t>* bytes,
                                  const char* text) {
  auto keep = [=](const std::vector<std::string>& sizes) {
    bytes->clear();
    for (const std::string& size : sizes) bytes->push_back(bytes_of(option, size));
  };
  app_->add_option_function<std::vector<std::string>>(option, keep, text)->type_name("SIZE");
  return *this;
}

BenchOptions& BenchOptions::flag(const char* option, bool* value, const char* text) {
  app_->add_flag(option, *value, text);
  return *this;
}

BenchOptions& BenchOptions::text(const char* option, const char* type, std::string* value,
                                 const char* text) {
  app_->add_option(option, *value, text)->type_name(type);
  return *this;
}

BenchOptions& BenchOptions::choice(const char* option, const char* type, std::string* value,
                                   const std::vector<std::string>& choices, const char* text) {
  add_choice(app_, option, type, value, choices, text);
  return *this;
}

BenchOptions& BenchOptions::choice(const char* option, const char* type,
                                   std::vector<std::string>* value,
                                   const std::vector<std::string>& choices, const char* text) {
  add_choice(app_, option, type, value, choices, text);
  return *this;
}

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Measure what Zazen costs and what it gains, on this machine.", "zazen-bench")) {
  app_->set_version_flag("--version", "zazen-bench " ZAZEN_VERSION);
  app_->footer("\nExample:\n  zazen-bench shim --json\n");
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

BenchOptions CommandLine::benchmark(const char* name, const char* about, const char* footer,
                                    Measure measure) {
  const char* temporary = std::getenv("TMPDIR");
  auto parent = std::make_shared<std::string>(
      temporary != nullptr && *temporary != '\0' ? temporary : "/tmp");
  auto run = [parent, measure = std::move(measure)] {
    const Programs programs = find_programs();
    const TemporaryDirectory root = TemporaryDirectory::make(*parent);
    return measure({programs, root.path()});
  };
  return program(name, about, footer, std::move(run))
      .text("--dir", "DIR", parent.get(),
            "Where to make the frames and the caches (default: $TMPDIR or /tmp)");
}

BenchOptions CommandLine::program(const char* name, const char* about, const char* footer,
                                  std::function<Figures()> measure) {
  CLI::App* app = app_->add_subcommand(name, about);
  app->add_flag("--json", json_, "Print JSON");
  app->footer(footer);
  commands_.emplace_back(app, [this, measure = std::move(measure)] {
    note_interruptions();
    try {
      const Figures figures = measure();
      json_ ? print_figures_json(figures) : print_figures_text(figures);
      return 0;
    } catch (const Error& error) {
      if (interruption() != 0) return kInterrupted + interruption();
      print_error(error.code == EPROTO ? error.context : error.message(), error.hint);
      return kFailed;
    }
  });
  return BenchOptions(app);
}

void CommandLine::worker(const char* name, int words, Work work) {
  auto given = std::make_shared<std::vector<std::string>>();
  CLI::App* app = app_->add_subcommand(name, "")->group("");
  app->add_option("WORDS", *given)->expected(words)->required();
  commands_.emplace_back(app, [given, work = std::move(work)] { return work(*given); });
}

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app_->exit(error);
    }
    print_error(error.what(), "zazen-bench --help shows what there is");
    return kUsage;
  }
  for (const auto& [app, command] : commands_) {
    if (app->parsed()) return command();
  }
  return kUsage;
}

}  // namespace zazen
