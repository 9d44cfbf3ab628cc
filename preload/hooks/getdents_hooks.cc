// getdents64 and getdirentries: for a program that reads the kernel's entries itself. With a
// view the hook reads the origin's entries of a frame directory (D20). It removes names that
// are not in the view from the caller's buffer. The other entries keep their d_off, so seeking
// still works. If a batch has no entry left, the hook reads the next one, so 0 still means the
// end.
#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"

using zazen::StreamSource;
using zazen::real::late;
using zazen::real::next;

namespace {

struct Entry {
  std::size_t length;
  const char* name;
  unsigned char type;
};

Entry entry_at(const char* at) {
  const auto& entry = *reinterpret_cast<const struct dirent64*>(at);
  return {entry.d_reclen, entry.d_name, entry.d_type};
}

// The format of SYS_getdents: the type is the record's last byte.
Entry old_entry_at(const char* at) {
  struct OldEntry {
    unsigned long ino, offset;
    unsigned short length;
    char name[];
  };
  const auto& entry = *reinterpret_cast<const OldEntry*>(at);
  return {entry.length, entry.name, static_cast<unsigned char>(at[entry.length - 1])};
}

// By name alone, as readdir does: the file behind the name may have changed.
bool is_shown(const StreamSource& source, const char* name) {
  const zazen::View& view = *source.view->view;
  const zazen::ViewDataset& dataset = view.datasets[source.dataset];
  const zazen::FrameName& frame = source.view->matchers[source.dataset].name;
  zazen::FrameSeq seq;
  return (frame.match_entry(name, std::strlen(name), &seq) &&
          zazen::is_own(view, dataset, seq)) ||
         zazen::has_name(view, dataset, name);
}

// Removes hidden entries from the buffer, or notes the shown ones. Returns the remaining bytes.
ssize_t sift(const StreamSource& source, Entry (*parse)(const char*), char* buffer,
             ssize_t size) {
  char* kept = buffer;
  for (char *at = buffer, *end = buffer + size; at < end;) {
    const Entry entry = parse(at);
    if (std::strcmp(entry.name, ".") == 0) zazen::note_listing(source);  // once in each
    if (source.view == nullptr) zazen::note_entry(source, entry.name, entry.type);
    if (source.view == nullptr || is_shown(source, entry.name)) {
      if (kept != at) std::memmove(kept, at, entry.length);
      kept += entry.length;
    }
    at += entry.length;
  }
  return kept - buffer;
}

template <class Forward>
ssize_t read_entries(int fd, void* buffer, Entry (*parse)(const char*), Forward forward) {
  if (!zazen::listings_are_watched()) [[likely]]
    return forward();
  StreamSource source = zazen::source_of_fd(fd);
  if (!source) return forward();
  for (;;) {
    ssize_t got = forward();
    if (got <= 0) return got;
    got = sift(source, parse, static_cast<char*>(buffer), got);
    if (got > 0) return got;
  }
}

// Base is where the first batch began, also if only a later batch had names.
template <class Offset>
ssize_t read_from_base(ssize_t (*forward)(int, char*, size_t, Offset*), int fd, char* buffer,
                       size_t size, Offset* base) {
  Offset later;
  Offset* where = base;
  return read_entries(fd, buffer, entry_at, [&] {
    ssize_t got = forward(fd, buffer, size, where);
    where = &later;
    return got;
  });
}

}  // namespace

ZAZEN_HOOK ssize_t getdents64(int fd, void* buffer, size_t size) {
  return read_entries(fd, buffer, entry_at,
                      [&] { return ZAZEN_CALL(getdents64, fd, buffer, size); });
}

ZAZEN_HOOK ssize_t getdirentries(int fd, char* buffer, size_t size, off_t* base) {
  return read_from_base(late(next.getdirentries), fd, buffer, size, base);
}

ZAZEN_HOOK ssize_t getdirentries64(int fd, char* buffer, size_t size, off64_t* base) {
  return read_from_base(late(next.getdirentries64), fd, buffer, size, base);
}

ssize_t zazen::read_old_entries(int fd, void* buffer, unsigned int size) {
  return read_entries(fd, buffer, old_entry_at, [&] {
    return static_cast<ssize_t>(raw::call(SYS_getdents, fd, buffer, size));
  });
}
