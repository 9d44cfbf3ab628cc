#include "tools/commands/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace zazen {
namespace {

bool is_path(const std::string& value) {
  return value == "FILE" || value == "DIR" || value == "RUNTIME";
}

// `text` with a backslash before each of the characters in `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string result;
  for (char c : text) {
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

// `text` as one word of a shell. In fish a quote is escaped within quotes.
std::string quoted(const std::string& text, bool is_fish = false) {
  if (is_fish) return "'" + escaped(text, "\\'") + "'";
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string names_of(const std::vector<CommandWords>& commands) {
  std::string names;
  for (const CommandWords& command : commands) {
    if (!command.name.empty()) names += (names.empty() ? "" : " ") + command.name;
  }
  return names;
}

std::string names_of(const CommandWords& command) {
  std::string names;
  for (const OptionWords& option : command.options) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

// Readline completes files where the function says nothing.
std::string bash_script(const std::vector<CommandWords>& commands) {
  std::string options;
  for (const CommandWords& command : commands) {
    options +=
        fmt::format("    {}) options={} ;;\n", quoted(command.name), quoted(names_of(command)));
  }
  return fmt::format(R"(# bash completion for zazenctl
_zazenctl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command='' options='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --config)
        # Readline takes --config=FILE for three words.
        [[ ${{COMP_WORDS[i + 1]-}} != = ]] || ((i++))
        ((i++))
        ;;
      --)
        # The program of run, with its own words.
        if [[ $command == run ]] && declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        fi
        return
        ;;
      -*) ;;
      *) [[ -n $command ]] || command=${{COMP_WORDS[i]}} ;;
    esac
  done
  case $command in
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -z $command && ${{COMP_WORDS[COMP_CWORD - 1]}} != --config ]]; then
    mapfile -t COMPREPLY < <(compgen -W {} -- "$word")
  fi
}}
complete -o default -F _zazenctl zazenctl
)",
                     options, quoted(names_of(commands)));
}

// The arguments of zsh's _arguments for the options of one command.
std::string zsh_arguments(const CommandWords& command) {
  std::string arguments;
  for (const OptionWords& option : command.options) {
    std::string value;
    if (!option.value.empty()) {
      value = fmt::format(":{}:{}", option.value, is_path(option.value) ? "_files" : "");
    }
    for (const std::string& name : option.names) {
      arguments +=
          " " + quoted(fmt::format("{}[{}]{}", name, escaped(option.sentence, "[]:\\"), value));
    }
  }
  return arguments;
}

std::string zsh_script(const std::vector<CommandWords>& commands) {
  std::string list, cases;
  for (const CommandWords& command : commands) {
    if (command.name.empty()) continue;
    list += "    " + quoted(command.name + ":" + escaped(command.sentence, ":\\")) + "\n";
    const char* form = "        {}) _arguments{} '*:file:_files' ;;\n";
    if (command.name == "run") {  // behind "--" stands a command with its own words
      form = R"(        {})
          local end=${{words[(i)--]}}
          if (( end < CURRENT )); then
            words=("${{(@)words[end+1,-1]}}")
            (( CURRENT -= end ))
            _normal
          else
            _arguments{} '*:program:_command_names -e'
          fi
          ;;
)";
    }
    cases += fmt::format(fmt::runtime(form), command.name, zsh_arguments(command));
  }
  return fmt::format(R"(#compdef zazenctl
_zazenctl() {{
  local curcontext=$curcontext state line
  local -a command_names
  command_names=(
{}  )
  _arguments -C{} '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command command_names ;;
    argument)
      case $words[1] in
{}      esac
      ;;
  esac
}}
_zazenctl "$@"
)",
                     list, zsh_arguments(commands.front()), cases);
}

std::string fish_script(const std::vector<CommandWords>& commands) {
  std::string lines = "# fish completion for zazenctl\n";
  for (const CommandWords& command : commands) {
    std::string condition = "__fish_use_subcommand";
    if (!command.name.empty()) {
      lines += fmt::format("complete -c zazenctl -n {} -f -a {} -d {}\n", condition,
                           command.name, quoted(command.sentence, true));
      condition = quoted("__fish_seen_subcommand_from " + command.name, true);
    }
    for (const OptionWords& option : command.options) {
      std::string names;
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        names += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
      }
      const char* value = option.value.empty() ? "" : is_path(option.value) ? " -r" : " -x";
      lines += fmt::format("complete -c zazenctl -n {}{}{} -d {}\n", condition, names, value,
                           quoted(option.sentence, true));
    }
  }
  return lines + R"(function __zazenctl_program
  set -l words (commandline -opc)
  set -e words[1..(contains -i -- -- $words)]
  complete -C (string join -- ' ' (string escape -- $words) (commandline -ct))
end
complete -c zazenctl -n 'contains -- -- (commandline -opc)' -x -a '(__zazenctl_program)'
)";
}

}  // namespace

std::string completion_script(const std::string& shell,
                              const std::vector<CommandWords>& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return {};
}

}  // namespace zazen
