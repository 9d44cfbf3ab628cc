#include "bodhi/lean/requests/directory_watch.h"

#include <alloca.h>

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

bool directory_key(const char* path, DirectoryKey* key) {
  struct stat st;
  if (raw_call(SYS_newfstatat, AT_FDCWD, path, &st, 0) != 0 || !S_ISDIR(st.st_mode)) {
    return false;
  }
  *key = {st.st_dev, st.st_ino};
  return true;
}

void DirectoryWatch::look_anew(const char* dataset, const FrameName& name,
                               std::int64_t now_ms) {
  std::size_t length = std::strlen(dataset);
  char* path = static_cast<char*>(alloca(length + 1 + name.directory_length() + sizeof "/."));
  std::memcpy(path, dataset, length);
  path[length++] = '/';
  std::memcpy(path + length, name.directory(), name.directory_length());
  length += name.directory_length();
  // A process without search permission for the directory must not learn about its content.
  std::memcpy(path + length, "/.", sizeof "/.");
  DirectoryKey key;
  bool found = directory_key(path, &key);
  if (found) {
    dev_.store(key.dev, std::memory_order_relaxed);
    ino_.store(key.ino, std::memory_order_relaxed);
  }
  reachable_.store(found, std::memory_order_relaxed);
  looked_at_ms_.store(found ? now_ms : now_ms - kAgainMs + 1000, std::memory_order_release);
}

}  // namespace zazen
