// CommandLine: the subcommands of zazen-bench. A benchmark adds itself with its options, and
// returns what it measured as JSON, or throws an Error. The JSON is printed as it is, or as
// tables.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/result.h"
#include "tools/bench/support/bench_place.h"

namespace CLI {
class App;
}

namespace zazen {

// One row of figures, or rows under their name, or a list of rows: the "cases".
using Figures = nlohmann::ordered_json;

// The options of one benchmark. A variable that an option fills has the default before, and
// must live until run() returns. A text ends with the default in brackets.
class BenchOptions {
 public:
  explicit BenchOptions(CLI::App* app) : app_(app) {}

  BenchOptions& number(const char* option, int* value, int least, int most, const char* text,
                       const char* type = "N");
  BenchOptions& seconds(const char* option, double* value, const char* text);
  // --frames, also as 1e6.
  BenchOptions& frames(std::uint64_t* frames, double least, double most, const char* text);
  BenchOptions& size(const char* option, std::uint64_t* bytes, const char* text);
  BenchOptions& sizes(const char* option, std::vector<std::uint64_t>* bytes, const char* text);
  BenchOptions& flag(const char* option, bool* value, const char* text);
  BenchOptions& text(const char* option, const char* type, std::string* value,
                     const char* text);
  // Each word is one of `choices`; a vector takes several.
  BenchOptions& choice(const char* option, const char* type, std::string* value,
                       const std::vector<std::string>& choices, const char* text);
  BenchOptions& choice(const char* option, const char* type, std::vector<std::string>* value,
                       const std::vector<std::string>& choices, const char* text);

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  using Measure = std::function<Figures(const BenchPlace&)>;
  using Work = std::function<int(const std::vector<std::string>& words)>;

  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // `footer` says what there is to know, and ends with an example. The option --dir names the
  // directory that gets the benchmark's temporary one.
  BenchOptions benchmark(const char* name, const char* about, const char* footer,
                         Measure measure);
  // A benchmark that needs no place.
  BenchOptions program(const char* name, const char* about, const char* footer,
                       std::function<Figures()> measure);
  // A process that a benchmark starts, with this number of words.
  void worker(const char* name, int words, Work work);
  bool json() const { return json_; }

  // The exit status: 0 measured, 1 failed, 2 wrong usage, 128 + the signal if interrupted.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands_;
  bool json_ = false;
};

}  // namespace zazen
