// Finds the configuration file. A separate file, because a program that uses the C API needs
// this and not the TOML parser.
#include <unistd.h>

#include <cstdlib>

#include "bodhi/config/config.h"

namespace zazen {

Result<std::string> find_config(const std::optional<std::string>& command_line) {
  if (command_line) return *command_line;
  const char* variable = ::secure_getenv("ZAZEN_CONFIG");
  if (variable && *variable) return std::string(variable);
  std::vector<std::string> places;
  const char* home = ::secure_getenv("HOME");
  if (home && *home) places.push_back(std::string(home) + "/.config/zazen/zazen.toml");
  places.push_back("/etc/zazen/zazen.toml");
  std::string tried;
  for (const std::string& place : places) {
    if (::access(place.c_str(), F_OK) == 0) return place;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  return Error{ENOENT, "no configuration: not found at " + tried,
               "name one with --config FILE or ZAZEN_CONFIG"};
}

}  // namespace zazen
