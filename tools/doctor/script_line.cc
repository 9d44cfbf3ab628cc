#include "tools/doctor/script_line.h"

#include <sstream>
#include <vector>

namespace zazen {
namespace {

constexpr char kBlanks[] = " \t";

std::string trimmed(const std::string& text) {
  std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::optional<ScriptLine> parse_script_line(const std::string& head) {
  if (!head.starts_with("#!")) return std::nullopt;
  std::string line = trimmed(head.substr(2, head.find('\n') - 2));
  if (line.empty() || line.find('\0') != std::string::npos) return std::nullopt;
  std::size_t end = line.find_first_of(kBlanks);
  ScriptLine script{line.substr(0, end), {}};
  if (end != std::string::npos) script.argument = trimmed(line.substr(end));
  return script;
}

EnvCommand parse_env_argument(const std::string& argument) {
  EnvCommand command;
  std::vector<std::string> words{argument};
  std::size_t split = argument.starts_with("--split-string=") ? 15 : 0;
  // -S may come last in a cluster of short options, as in "-iS".
  std::size_t letters = argument.find_first_not_of("iv0", 1);
  if (argument.starts_with("-") && letters != std::string::npos && argument[letters] == 'S') {
    split = letters + 1;
    command.clears_environment = argument.find('i') < letters;
  }
  if (split > 0) {
    std::istringstream rest(argument.substr(split));
    words.clear();
    for (std::string word; rest >> word;) words.push_back(word);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-u" && i + 1 < words.size()) {
      command.clears_environment |= words[++i] == "LD_PRELOAD";
    } else if (word == "-" || word == "-i" || word == "--ignore-environment" ||
               word == "-uLD_PRELOAD" || word == "--unset=LD_PRELOAD" ||
               word.starts_with("LD_PRELOAD=")) {
      command.clears_environment = true;
    } else if (!word.starts_with("-") && word.find('=') == std::string::npos) {
      command.program = word;
      break;
    }
  }
  return command;
}

}  // namespace zazen
