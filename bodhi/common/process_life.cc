#include "bodhi/common/process_life.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

namespace zazen {

bool process_is_over(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t name_end = text.rfind(')');  // the state follows the name in parentheses
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
}

}  // namespace zazen
