// The script by which a shell completes the words of zazenctl. It is made from the options that
// zazenctl itself parses, so it names each of them and no other. `completion` prints it. `cmake
// --install` puts it where each shell looks.
#pragma once
#include <string>
#include <vector>

namespace zazen {

struct OptionWords {
  std::vector<std::string> names;  // with their dashes
  std::string sentence;
  std::string value;  // "FILE", "A-B", ...; empty: the option takes none
};

struct CommandWords {
  std::string name;
  std::string sentence;
  std::vector<OptionWords> options;
};

// `shell`: bash, zsh or fish. Empty: another one. The first of `commands` has no name: its
// options stand before a command.
std::string completion_script(const std::string& shell,
                              const std::vector<CommandWords>& commands);

}  // namespace zazen
