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

TreeStream* ours(FTS64* stream) {
  return TreeStream::of(reinterpret_cast<FTS*>(stream));
}
FTSENT64* wide(FTSENT* entry) {
  return reinterpret_cast<FTSENT64*>(entry);
}

}  // namespace

ZAZEN_HOOK FTS* fts_open(char* const* tops, int options,
                         int (*compare)(const FTSENT**, const FTSENT**)) {
  if (!zazen::listings_are_watched()) [[likely]]
    return late(next.fts_open)(tops, options, compare);
  return TreeStream::open(tops, options, compare);
}

ZAZEN_HOOK FTSENT* fts_read(FTS* stream) {
  if (TreeStream* own = TreeStream::of(stream)) return own->read();
  return late(next.fts_read)(stream);
}

ZAZEN_HOOK FTSENT* fts_children(FTS* stream, int instruction) {
  if (TreeStream* own = TreeStream::of(stream)) return own->children(instruction);
  return late(next.fts_children)(stream, instruction);
}

ZAZEN_HOOK int fts_set(FTS* stream, FTSENT* entry, int instruction) noexcept {
  if (TreeStream::of(stream) != nullptr) return TreeStream::set(entry, instruction);
  return late(next.fts_set)(stream, entry, instruction);
}

ZAZEN_HOOK int fts_close(FTS* stream) {
  if (TreeStream* own = TreeStream::of(stream)) return own->close();
  return late(next.fts_close)(stream);
}

ZAZEN_HOOK FTS64* fts64_open(char* const* tops, int options,
                             int (*compare)(const FTSENT64**, const FTSENT64**)) {
  if (!zazen::listings_are_watched()) [[likely]]
    return late(next.fts64_open)(tops, options, compare);
  return reinterpret_cast<FTS64*>(
      TreeStream::open(tops, options, reinterpret_cast<TreeStream::Compare>(compare)));
}

ZAZEN_HOOK FTSENT64* fts64_read(FTS64* stream) {
  if (TreeStream* own = ours(stream)) return wide(own->read());
  return late(next.fts64_read)(stream);
}

ZAZEN_HOOK FTSENT64* fts64_children(FTS64* stream, int instruction) {
  if (TreeStream* own = ours(stream)) return wide(own->children(instruction));
  return late(next.fts64_children)(stream, instruction);
}

ZAZEN_HOOK int fts64_set(FTS64* stream, FTSENT64* entry, int instruction) noexcept {
  if (ours(stream) != nullptr) {
    return TreeStream::set(reinterpret_cast<FTSENT*>(entry), instruction);
  }
  return late(next.fts64_set)(stream, entry, instruction);
}

ZAZEN_HOOK int fts64_close(FTS64* stream) {
  if (TreeStream* own = ours(stream)) return own->close();
  return late(next.fts64_close)(stream);
}
