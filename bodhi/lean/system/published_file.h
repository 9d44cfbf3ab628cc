// A file in a daemon's runtime directory that other processes map. Opened and mapped by raw
// system calls. Its owner must be this user or root, and no other user may have write access.
// Lean.
#pragma once
#include <sys/mman.h>

#include "bodhi/lean/system/base_types.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {

// This user or root. libc's geteuid may be fakeroot's.
inline bool owner_is_trusted(const struct stat& st) {
  return st.st_uid == 0 || st.st_uid == static_cast<uid_t>(raw_call(SYS_geteuid));
}

// A plain file of a trusted owner, without write access for other users.
inline bool is_trusted(const struct stat& st) {
  return S_ISREG(st.st_mode) && owner_is_trusted(st) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Opens <runtime>/<name> and returns its size in *size; -1 on failure.
inline int open_published(const char* runtime, const char* name, int flags, std::size_t* size) {
  char path[kMaxPath + 64];
  if (!join_path(runtime, name, path, sizeof path)) return -1;
  RawFd file(raw_open(path, flags | O_NOFOLLOW | O_NONBLOCK));
  struct stat st;
  if (!file.valid() || raw_fstat(file.get(), &st) != 0 || !is_trusted(st)) return -1;
  *size = static_cast<std::size_t>(st.st_size);
  return file.release();
}

// Null if it fails.
inline void* map_published(int fd, std::size_t size, int protection) {
  return raw_map(size, protection, MAP_SHARED, fd);
}

}  // namespace zazen
