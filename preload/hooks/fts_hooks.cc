// fts: glibc's implementation walks by internal names. A stream that is opened while listings
// are watched is ours (tree_stream.h) until it is closed; every other stream is libc's.
#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"
#include "preload/listings/tree_stream.h"

static_assert(sizeof(FTS) == sizeof(FTS64) && sizeof(FTSENT) == sizeof(FTSENT64));
static_assert(offsetof(FTS, fts_options) == offsetof(FTS64, fts_options));
static_assert(offsetof(FTSENT, fts_statp) == offsetof(FTSENT64, fts_statp));

using zazen::TreeStream;
using zazen::real::late;
using zazen::real::next;

namespace {

template <class Stream>
TreeStream* ours(Stream* stream) {
  return TreeStream::of(reinterpret_cast<FTS*>(stream));
}

}  // namespace

#define FTS_HOOKS(fts, Stream, Entry)                                                     \
  ZAZEN_HOOK Stream* fts##_open(char* const* tops, int options,                           \
                                int (*compare)(const Entry**, const Entry**)) {           \
    if (!zazen::listings_are_watched()) [[likely]]                                        \
      return late(next.fts##_open)(tops, options, compare);                               \
    return reinterpret_cast<Stream*>(                                                     \
        TreeStream::open(tops, options, reinterpret_cast<TreeStream::Compare>(compare))); \
  }                                                                                       \
  ZAZEN_HOOK Entry* fts##_read(Stream* stream) {                                          \
    if (TreeStream* own = ours(stream)) return reinterpret_cast<Entry*>(own->read());     \
    return late(next.fts##_read)(stream);                                                 \
  }                                                                                       \
  ZAZEN_HOOK Entry* fts##_children(Stream* stream, int instruction) {                     \
    if (TreeStream* own = ours(stream))                                                   \
      return reinterpret_cast<Entry*>(own->children(instruction));                        \
    return late(next.fts##_children)(stream, instruction);                                \
  }                                                                                       \
  ZAZEN_HOOK int fts##_set(Stream* stream, Entry* entry, int instruction) noexcept {      \
    if (ours(stream) != nullptr)                                                          \
      return TreeStream::set(reinterpret_cast<FTSENT*>(entry), instruction);              \
    return late(next.fts##_set)(stream, entry, instruction);                              \
  }                                                                                       \
  ZAZEN_HOOK int fts##_close(Stream* stream) {                                            \
    if (TreeStream* own = ours(stream)) return own->close();                              \
    return late(next.fts##_close)(stream);                                                \
  }
FTS_HOOKS(fts, FTS, FTSENT)
FTS_HOOKS(fts64, FTS64, FTSENT64)
