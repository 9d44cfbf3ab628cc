// ScriptLine: the #! line of a script, and the program that it really runs when env(1) stands
// between them.
#pragma once
#include <optional>
#include <string>

namespace zazen {

struct ScriptLine {
  std::string interpreter;
  std::string argument;  // all that follows, as the kernel hands it on: one word
};

// Of a file's first bytes (kScriptHead are enough). Nothing if it is no script.
inline constexpr std::size_t kScriptHead = 256;
std::optional<ScriptLine> parse_script_line(const std::string& head);

struct EnvCommand {
  std::string program;              // "" if none is named
  bool clears_environment = false;  // LD_PRELOAD does not survive it
};
// What "env ARGUMENT" runs; -S splits the argument into words.
EnvCommand parse_env_argument(const std::string& argument);

}  // namespace zazen
