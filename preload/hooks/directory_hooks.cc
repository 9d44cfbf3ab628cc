// opendir and the calls on its streams. Only a stream over a dataset's frame directory is ours,
// and only with a view or a ledger. If there is no memory for such a stream, opendir fails with
// ENOMEM: an unfiltered listing would lose or repeat frames in silence.
//
// struct dirent64 is struct dirent on this machine.
#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"

static_assert(sizeof(struct dirent) == sizeof(struct dirent64));

using zazen::DirectoryStream;
using zazen::find_stream;
using zazen::real::late;
using zazen::real::next;

namespace {

// Does the work of readdir_r for a stream of ours. Forward reads the real stream.
template <class Entry, class Forward>
int read_reentrant(DirectoryStream& stream, Entry* entry, Entry** result, Forward forward) {
  struct dirent64* out = reinterpret_cast<struct dirent64*>(entry);
  if (stream.source.view != nullptr) {
    *result = zazen::take_entry(stream, out) ? entry : nullptr;
    return 0;
  }
  int status = forward();
  if (status == 0 && *result != nullptr) {
    zazen::note_entry(stream.source, out->d_name, out->d_type);
  }
  return status;
}

}  // namespace

ZAZEN_HOOK DIR* opendir(const char* path) {
  DIR* directory = late(next.opendir)(path);
  zazen::forget_closed(directory);
  if (directory == nullptr || !zazen::listings_are_watched()) [[likely]]
    return directory;
  zazen::StreamSource source = zazen::source_of_fd(::dirfd(directory));
  if (!source) return directory;
  DirectoryStream* stream = zazen::claim_stream(source);
  if (stream == nullptr) {
    late(next.closedir)(directory);
    errno = ENOMEM;
    return nullptr;
  }
  zazen::publish_stream(stream, directory);
  return directory;
}

ZAZEN_HOOK DIR* fdopendir(int fd) {
  auto forward = [&] {
    DIR* directory = late(next.fdopendir)(fd);
    zazen::forget_closed(directory);
    return directory;
  };
  if (!zazen::listings_are_watched()) [[likely]]
    return forward();
  zazen::StreamSource source = zazen::source_of_fd(fd);
  if (!source) return forward();
  DirectoryStream* stream = zazen::claim_stream(source);
  if (stream == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  DIR* directory = forward();
  if (directory == nullptr) {
    zazen::release_stream(stream);
  } else {
    zazen::publish_stream(stream, directory);
  }
  return directory;
}

#define READDIR_HOOK(name, Entry)                                                              \
  ZAZEN_HOOK struct Entry* name(DIR* directory) {                                              \
    DirectoryStream* stream = find_stream(directory);                                          \
    if (stream == nullptr) [[likely]]                                                          \
      return late(next.name)(directory);                                                       \
    return reinterpret_cast<struct Entry*>(zazen::next_entry(                                  \
        *stream, directory,                                                                    \
        [](DIR* real) { return reinterpret_cast<struct dirent64*>(late(next.name)(real)); })); \
  }
READDIR_HOOK(readdir, dirent)
READDIR_HOOK(readdir64, dirent64)

#define READDIR_R_HOOK(name, Entry)                                                 \
  ZAZEN_HOOK int name(DIR* directory, struct Entry* entry, struct Entry** result) { \
    auto forward = [&] { return late(next.name)(directory, entry, result); };       \
    DirectoryStream* stream = find_stream(directory);                               \
    if (stream == nullptr) [[likely]]                                               \
      return forward();                                                             \
    return read_reentrant(*stream, entry, result, forward);                         \
  }
READDIR_R_HOOK(readdir_r, dirent)
READDIR_R_HOOK(readdir64_r, dirent64)

ZAZEN_HOOK int closedir(DIR* directory) {
  // Before the real call, which frees memory that another stream may reuse at once.
  if (DirectoryStream* stream = find_stream(directory)) zazen::release_stream(stream);
  return late(next.closedir)(directory);
}

ZAZEN_HOOK void rewinddir(DIR* directory) {
  DirectoryStream* stream = find_stream(directory);
  if (stream == nullptr || stream->source.view == nullptr)
    return late(next.rewinddir)(directory);
  stream->position.store(0, std::memory_order_relaxed);
}

ZAZEN_HOOK void seekdir(DIR* directory, long position) {
  DirectoryStream* stream = find_stream(directory);
  if (stream == nullptr || stream->source.view == nullptr) {
    return late(next.seekdir)(directory, position);
  }
  stream->position.store(static_cast<std::uint64_t>(position), std::memory_order_relaxed);
}

ZAZEN_HOOK long telldir(DIR* directory) {
  DirectoryStream* stream = find_stream(directory);
  if (stream == nullptr || stream->source.view == nullptr) return late(next.telldir)(directory);
  return static_cast<long>(stream->position.load(std::memory_order_relaxed));
}
