// ScriptLine: the #! line of a script, and the program that runs it when env(1) is between
// them.
#pragma once
#include <optional>
#include <string>

namespace zazen {

struct ScriptLine {
  std::string interpreter;
  std::string argument;  // the rest of the line, which the kernel passes as one word
};

// Parses a file's first bytes (kScriptHead are enough). Nothing if it is no script.
inline constexpr std::size_t kScriptHead = 256;
std::optional<ScriptLine> parse_script_line(const std::string& head);

struct EnvCommand {
  std::string program;              // "" if none is named
  bool clears_environment = false;  // env removes LD_PRELOAD
};
// The program that "env ARGUMENT" runs; -S splits the argument into words.
EnvCommand parse_env_argument(const std::string& argument);

}  // namespace zazen
