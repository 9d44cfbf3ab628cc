// ftw and nftw: glibc's implementation walks by internal names. While listings are watched, our
// own walk replaces it (tree_walk.h). struct stat64 is struct stat on this machine.
#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"
#include "preload/listings/tree_walk.h"

static_assert(sizeof(struct stat) == sizeof(struct stat64));

using zazen::listings_are_watched;
using zazen::TreeVisitor;
using zazen::TreeWalk;
using zazen::real::late;
using zazen::real::next;

namespace {

constexpr int kKnownFlags = FTW_PHYS | FTW_MOUNT | FTW_CHDIR | FTW_DEPTH | FTW_ACTIONRETVAL;

int walk_detailed(const char* top, __nftw_func_t visit, int open_limit, int flags) {
  if ((flags & ~kKnownFlags) != 0) {
    errno = EINVAL;
    return -1;
  }
  return TreeWalk(TreeVisitor{nullptr, visit}, flags, open_limit).run(top);
}

}  // namespace

#define FTW_HOOK(name, Visit)                                                  \
  ZAZEN_HOOK int name(const char* top, Visit visit, int open_limit) {          \
    if (!listings_are_watched()) [[likely]]                                    \
      return late(next.name)(top, visit, open_limit);                          \
    const TreeVisitor visitor{reinterpret_cast<__ftw_func_t>(visit), nullptr}; \
    return TreeWalk(visitor, 0, open_limit).run(top);                          \
  }
FTW_HOOK(ftw, __ftw_func_t)
FTW_HOOK(ftw64, __ftw64_func_t)

#define NFTW_HOOK(name, Visit)                                                            \
  ZAZEN_HOOK int name(const char* top, Visit visit, int open_limit, int flags) {          \
    if (!listings_are_watched()) [[likely]]                                               \
      return late(next.name)(top, visit, open_limit, flags);                              \
    return walk_detailed(top, reinterpret_cast<__nftw_func_t>(visit), open_limit, flags); \
  }
NFTW_HOOK(nftw, __nftw_func_t)
NFTW_HOOK(nftw64, __nftw64_func_t)
