// Finds the children of a directory for a TreeStream, and their types.
#include <stdlib.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/listings/directory_stream.h"
#include "preload/listings/tree_stream.h"

namespace zazen {

struct TreeStream::Build {  // the entries of one directory, while they are read
  FTSENT* directory;
  std::size_t prefix;  // of the children's paths, with the slash
  long to_stat;        // how many entries need a stat: none, all (-1), or that many directories
  bool trust_types;    // an entry whose type is not a directory needs none
  FTSENT* head = nullptr;
  FTSENT* tail = nullptr;
  std::size_t count = 0;
};

FTSENT* TreeStream::build(Purpose purpose) {
  FTSENT* directory = fts_.fts_cur;
  DIR* stream = opendir(directory->fts_accpath);
  if (stream == nullptr) {
    if (purpose == Purpose::kRead) {
      directory->fts_info = FTS_DNR;
      directory->fts_errno = errno;
    }
    return nullptr;
  }
  Build build{directory, path_end(*directory) + 1, -1, false};
  if (purpose == Purpose::kNames) {
    build.to_stat = 0;
  } else if (has(FTS_NOSTAT) && has(FTS_PHYSICAL)) {
    build.to_stat = static_cast<long>(directory->fts_nlink) - (has(FTS_SEEDOT) ? 0 : 2);
    build.trust_types = true;
  }

  bool inside = false;
  bool readable = true;
  if (build.to_stat != 0 || purpose == Purpose::kRead) {
    inside = readable = go_into(directory, ::dirfd(stream), nullptr);
    if (!inside) {
      if (build.to_stat != 0 && purpose == Purpose::kRead) directory->fts_errno = errno;
      directory->fts_flags |= FTS_DONTCHDIR;
    }
  }
  if (has(FTS_NOCHDIR)) fts_.fts_path[build.prefix - 1] = '/';
  bool complete = true;
  while (readable && complete) {
    struct dirent* found = readdir(stream);
    if (found == nullptr) break;
    if (is_dot(found->d_name) && !has(FTS_SEEDOT)) continue;
    complete = add_child(build, *found);
  }
  int failure = errno;
  closedir(stream);
  errno = failure;
  if (has(FTS_NOCHDIR)) fts_.fts_path[build.prefix - (build.count == 0)] = '\0';

  bool steps_back = purpose == Purpose::kChildren || build.count == 0;
  if (!complete || (inside && steps_back && !leave(directory))) {
    ErrnoKeeper keep;
    directory->fts_info = FTS_ERR;
    free_list(build.head);
    return stop();
  }
  if (build.count == 0 && purpose == Purpose::kRead) directory->fts_info = FTS_DP;
  return sort(build.head, build.count);
}

bool TreeStream::add_child(Build& build, const struct dirent& found) {
  std::size_t length = std::strlen(found.d_name);
  if (build.prefix + length > kLongestPath) {
    errno = ENAMETOOLONG;
    return false;
  }
  FTSENT* child = make_entry(found.d_name, length);
  if (child == nullptr) return false;
  child->fts_parent = build.directory;
  child->fts_level = static_cast<short>(build.directory->fts_level + 1);
  child->fts_pathlen = static_cast<unsigned short>(build.prefix + length);
  child->fts_accpath = has(FTS_NOCHDIR) ? child->fts_path : child->fts_name;
  bool is_no_directory =
      build.trust_types && found.d_type != DT_DIR && found.d_type != DT_UNKNOWN;
  if (build.to_stat == 0 || is_no_directory) {
    child->fts_info = FTS_NSOK;
  } else {
    if (has(FTS_NOCHDIR)) {
      std::memcpy(fts_.fts_path + build.prefix, child->fts_name, length + 1);
    }
    child->fts_info = classify(child, false);
    bool is_directory =
        child->fts_info == FTS_D || child->fts_info == FTS_DC || child->fts_info == FTS_DOT;
    if (build.to_stat > 0 && is_directory) --build.to_stat;
  }
  (build.tail == nullptr ? build.head : build.tail->fts_link) = child;
  build.tail = child;
  ++build.count;
  return true;
}

unsigned short TreeStream::classify(FTSENT* entry, bool follow_link) const {
  struct stat own;
  struct stat* st = has(FTS_NOSTAT) ? &own : entry->fts_statp;
  int failure = 0;
  if (has(FTS_LOGICAL) || follow_link) {
    if (stat(entry->fts_accpath, st) != 0) {
      failure = errno;
      if (lstat(entry->fts_accpath, st) == 0) {
        errno = 0;
        return FTS_SLNONE;
      }
    }
  } else if (lstat(entry->fts_accpath, st) != 0) {
    failure = errno;
  }
  if (failure != 0) {
    entry->fts_errno = failure;
    std::memset(st, 0, sizeof *st);
    return FTS_NS;
  }
  if (S_ISLNK(st->st_mode)) return FTS_SL;
  if (S_ISREG(st->st_mode)) return FTS_F;
  if (!S_ISDIR(st->st_mode)) return FTS_DEFAULT;
  entry->fts_dev = st->st_dev;
  entry->fts_ino = st->st_ino;
  entry->fts_nlink = st->st_nlink;
  if (is_dot(entry->fts_name)) return FTS_DOT;
  for (FTSENT* above = entry->fts_parent; above->fts_level >= FTS_ROOTLEVEL;
       above = above->fts_parent) {
    if (above->fts_ino != entry->fts_ino || above->fts_dev != entry->fts_dev) continue;
    entry->fts_cycle = above;
    return FTS_DC;
  }
  return FTS_D;
}

FTSENT* TreeStream::sort(FTSENT* list, std::size_t count) {
  if (fts_.fts_compar == nullptr || count < 2) return list;
  void* memory = ::realloc(fts_.fts_array, count * sizeof(FTSENT*));
  if (memory == nullptr) return list;
  FTSENT** array = fts_.fts_array = static_cast<FTSENT**>(memory);
  std::size_t at = 0;
  for (FTSENT* entry = list; entry != nullptr; entry = entry->fts_link) array[at++] = entry;
  ::qsort(array, count, sizeof(FTSENT*), fts_.fts_compar);
  for (at = 0; at + 1 < count; ++at) array[at]->fts_link = array[at + 1];
  array[at]->fts_link = nullptr;
  return array[0];
}

}  // namespace zazen
