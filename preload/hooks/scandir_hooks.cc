// scandir and scandirat: glibc's implementation reads the directory by internal names and would
// show every frame. For a frame directory with a view or a ledger this file does the same over
// the hooked calls. The caller frees the result, so only this hook uses malloc.
#include <stdlib.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"

namespace {

bool is_watched(int dirfd, const char* path) {
  if (zazen::unpromised(path) == nullptr || !zazen::listings_are_watched()) return false;
  zazen::ErrnoKeeper keep;
  struct stat st;
  return zazen::raw::fstatat(dirfd, path, &st, 0) == 0 && S_ISDIR(st.st_mode) &&
         static_cast<bool>(zazen::source_of(st));
}

DIR* open_directory(int dirfd, const char* path) {
  int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* directory = fdopendir(fd);
  if (directory == nullptr) zazen::raw::close(fd);
  return directory;
}

template <class Entry>
struct Names {
  Entry** list = nullptr;
  std::size_t count = 0;
  std::size_t capacity = 0;

  bool add(const Entry& entry) {
    if (count == capacity) {
      std::size_t larger = capacity == 0 ? 64 : 2 * capacity;
      void* memory = ::realloc(list, larger * sizeof(Entry*));
      if (memory == nullptr) return false;
      list = static_cast<Entry**>(memory);
      capacity = larger;
    }
    void* copy = ::malloc(entry.d_reclen);
    if (copy == nullptr) return false;
    list[count++] = static_cast<Entry*>(std::memcpy(copy, &entry, entry.d_reclen));
    return true;
  }
  void drop() {
    for (std::size_t i = 0; i < count; ++i) ::free(list[i]);
    ::free(list);
  }
};

template <class Entry>
using Filter = int (*)(const Entry*);
template <class Entry>
using Compare = int (*)(const Entry**, const Entry**);

template <class Entry>
int scan(int dirfd, const char* path, Entry*** out, Filter<Entry> filter,
         Compare<Entry> compare, Entry* (*read)(DIR*)) {
  int saved = errno;
  DIR* directory = open_directory(dirfd, path);
  if (directory == nullptr) return -1;
  Names<Entry> names;
  int failure = 0;
  for (;;) {
    errno = 0;
    Entry* entry = read(directory);
    if (entry == nullptr) {
      failure = errno;
      break;
    }
    if (filter != nullptr && filter(entry) == 0) continue;
    if (!names.add(*entry)) {
      failure = ENOMEM;
      break;
    }
  }
  closedir(directory);
  if (failure != 0) {
    names.drop();
    errno = failure;
    return -1;
  }
  if (compare != nullptr && names.count != 0) {
    ::qsort(names.list, names.count, sizeof(Entry*),
            reinterpret_cast<int (*)(const void*, const void*)>(
                reinterpret_cast<void (*)()>(compare)));
  }
  errno = saved;
  *out = names.list;
  return static_cast<int>(names.count);
}

}  // namespace

using zazen::real::late;
using zazen::real::next;

#define SCANDIR_HOOKS(name, name_at, Entry, read)                                         \
  ZAZEN_HOOK int name(const char* path, struct Entry*** out, Filter<struct Entry> filter, \
                      Compare<struct Entry> compare) {                                    \
    if (!is_watched(AT_FDCWD, path)) [[likely]]                                           \
      return late(next.name)(path, out, filter, compare);                                 \
    return scan(AT_FDCWD, path, out, filter, compare, read);                              \
  }                                                                                       \
  ZAZEN_HOOK int name_at(int dirfd, const char* path, struct Entry*** out,                \
                         Filter<struct Entry> filter, Compare<struct Entry> compare) {    \
    if (!is_watched(dirfd, path)) [[likely]]                                              \
      return late(next.name_at)(dirfd, path, out, filter, compare);                       \
    return scan(dirfd, path, out, filter, compare, read);                                 \
  }
SCANDIR_HOOKS(scandir, scandirat, dirent, readdir)
SCANDIR_HOOKS(scandir64, scandirat64, dirent64, readdir64)
