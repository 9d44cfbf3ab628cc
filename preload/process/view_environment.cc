#include "preload/process/view_environment.h"

#include <sys/mman.h>

#include <cstring>

#include "bodhi/lean/system/raw_call.h"
#include "preload/process/current_view.h"

namespace zazen {

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
  return count == 0 ? 0 : count + 2;
}

char* const* add_view(char* const* environment, std::size_t room, char** out) {
  std::memcpy(out, environment, (room - 2) * sizeof(char*));
  out[room - 2] = const_cast<char*>(current_view()->variable);
  out[room - 1] = nullptr;
  return out;
}

EnvironmentPages::EnvironmentPages(std::size_t room)
    : size_(room > kMaxOnStack ? room * sizeof(char*) : 0) {
  if (size_ == 0) return;
  long pages = raw_call(SYS_mmap, nullptr, size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages > 0) pages_ = reinterpret_cast<char**>(pages);
}

EnvironmentPages::~EnvironmentPages() {
  if (pages_ != nullptr) raw_call(SYS_munmap, pages_, size_);
}

}  // namespace zazen
