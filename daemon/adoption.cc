#include "daemon/adoption.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "daemon/clock_tick.h"
#include "daemon/origin.h"

namespace zazen {
namespace {

constexpr std::uint64_t kLookBytes = 4096, kLooks = 4;

// Pages from the first to the last; all of a small frame.
bool same_pages(int one, int other, std::uint64_t size) {
  char left[kLookBytes], right[kLookBytes];
  std::uint64_t last = size > kLookBytes ? size - kLookBytes : 0;
  const std::uint64_t looks = last == 0 ? 1 : kLooks;
  for (std::uint64_t i = 0; i < looks; ++i) {
    auto at = static_cast<off_t>(last * i / (kLooks - 1));
    ssize_t wanted = static_cast<ssize_t>(std::min(kLookBytes, size));
    if (::pread(one, left, sizeof left, at) != wanted ||
        ::pread(other, right, sizeof right, at) != wanted ||
        std::memcmp(left, right, static_cast<std::size_t>(wanted)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

int compare_with_origin(int content_fd, std::uint64_t size, int origin_fd,
                        struct stat* origin) {
  if (has_writer(origin_fd)) return EBUSY;
  if (::fstat(origin_fd, origin) != 0) return errno;
  if (!S_ISREG(origin->st_mode)) return EINVAL;
  if (static_cast<std::uint64_t>(origin->st_size) != size) return ESTALE;
  return same_pages(content_fd, origin_fd, size) ? 0 : ESTALE;
}

int adopt(Store& store, std::uint32_t dataset, FrameSeq seq, int origin_fd, const Peer& client,
          const ReachedDirectories& reached) {
  if (!store.is_waiting(dataset, seq)) return ENOENT;
  UniqueFd copy = store.open_copy(dataset, seq);
  struct stat local = {}, origin = {}, now = {};
  if (!copy.valid() || ::fstat(copy.get(), &local) != 0) return errno;
  // A later change of the rights must be seen by its time.
  if (::fstat(origin_fd, &origin) != 0) return errno;
  if (store.serves_all_users()) outwait_clock(origin.st_ctim, [] { return false; });
  int code = compare_with_origin(copy.get(), static_cast<std::uint64_t>(local.st_size),
                                 origin_fd, &origin);
  if (code != 0) return code;
  AccessList readers = AccessList::nobody();
  if (store.serves_all_users()) {
    readers = AccessList::of(origin, read_acl(origin_fd), Right::kRead);
    store.expect_mirrored(dataset, reached);
  }
  code = store.adopt(dataset, seq, std::move(copy), origin, readers, reached);
  if (code != 0) return code;
  // From now on who changes the origin finds the copy under its name.
  ReachedDirectories still;
  code = verify_origin(store.dataset(dataset), store.name_of(dataset, seq), origin_fd, client,
                       &now, store.serves_all_users() ? &still : nullptr);
  bool same = code == 0 && still == reached &&
              same_file(identity_of(origin, FrameKind::kNative, 0), now);
  if (!same) store.drop(dataset, std::span(&seq, 1));
  return same ? 0 : ESTALE;
}

}  // namespace zazen
