#include "preload/frames/cached_copy.h"

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/open_flags.h"
#include "preload/calls/raw.h"
#include "preload/frames/copy_identity.h"
#include "preload/frames/open_counts.h"

namespace zazen {

std::size_t CopyPath::room(const Route& route) {
  if (route.node == nullptr) return 0;
  return route.matcher->copies_length + route.matcher->name.most_length() + 1;
}

CopyPath::CopyPath(const Route& route, void* memory) : text(nullptr) {
  const std::size_t all = room(route), length = all == 0 ? 0 : route.matcher->copies_length;
  if (length == 0) return;
  char* path = static_cast<char*>(memory);
  std::memcpy(path, route.matcher->copies, length);
  if (route.matcher->name.format(route.seq, path + length, all - length) != 0) text = path;
}

int open_copy(const Route& route, int flags) {
  if (!only_reads(flags)) return -1;
  ErrnoKeeper keep;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  int fd = copy ? open_local_copy(local_copy(route, copy), flags) : -1;
  if (fd >= 0) count_opened(route, fd, Source::kCache);
  return fd;
}

bool copy_may_answer(const Route& route, const CopyPath& copy, dev_t* origin_dev) {
  if (!copy) return false;
  DirectoryKey directory;
  if (judge(dataset_facts(local_copy(route, copy), &directory)).use != CopyUse::kServe) {
    return false;
  }
  *origin_dev = directory.dev;
  return true;
}

bool identify_copy(const Route& route, const CopyPath& copy, const struct stat& local,
                   OriginIdentity* identity) {
  return (indexed_identity(*route.node, local, identity) ||
          read_identity_at(copy.text, identity) == 0) &&
         confirm_identity(local_copy(route, copy), *identity);
}

bool stat_copy(const Route& route, struct stat* st) {
  ErrnoKeeper keep;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  dev_t origin_dev;
  OriginIdentity identity;
  struct stat local;
  if (st == nullptr || !copy_may_answer(route, copy, &origin_dev) ||
      raw::fstatat(AT_FDCWD, copy.text, &local, AT_SYMLINK_NOFOLLOW) != 0 ||
      !identify_copy(route, copy, local, &identity)) {
    return false;
  }
  show_identity(identity, origin_dev, &local);
  *st = local;
  return true;
}

bool copy_is_readable(const Route& route, int access_flags) {
  struct stat st;
  if (!stat_copy(route, &st)) return false;
  ErrnoKeeper keep;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  return copy && raw::faccessat(AT_FDCWD, copy.text, R_OK, access_flags) == 0;
}

}  // namespace zazen
