#include "preload/view_environment.h"

#include <cstring>

#include "preload/current_view.h"

namespace zazen {
namespace {

constexpr std::size_t kMaxVariables = 100'000;

}  // namespace

std::size_t room_for_view(char* const* environment) {
  if (current_view() == nullptr || environment == nullptr) return 0;
  constexpr std::size_t kNameLength = sizeof kViewVariable - 1;
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (std::strncmp(environment[count], kViewVariable, kNameLength) == 0 &&
        environment[count][kNameLength] == '=') {
      return 0;
    }
  }
  return count == 0 || count > kMaxVariables ? 0 : count + 2;
}

char* const* add_view(char* const* environment, std::size_t room, char** out) {
  std::memcpy(out, environment, (room - 2) * sizeof(char*));
  out[room - 2] = const_cast<char*>(current_view()->variable);
  out[room - 1] = nullptr;
  return out;
}

}  // namespace zazen
