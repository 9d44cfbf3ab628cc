// getdents64 and getdirentries: a program that reads the kernel's entries itself. With a view
// the origin's entries of a frame directory are read (D20), and the frames that are not the
// rank's are taken out of the caller's buffer. What remains keeps its d_off, so seeking works
// as it did; a batch of which nothing remains is followed by the next, so 0 still means the
// end.
#include <cstring>

#include "preload/directory_stream.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"

using zazen::StreamSource;
using zazen::real::late;
using zazen::real::next;

namespace {

bool is_shown(const StreamSource& source, const struct dirent64& entry) {
  const zazen::View& view = *source.view->view;
  const zazen::FrameName& name = source.view->places[source.dataset].name;
  zazen::FrameSeq seq;
  return !name.type_fits(entry.d_type) ||
         !name.match_entry(entry.d_name, std::strlen(entry.d_name), &seq) ||
         zazen::is_own(view, view.datasets[source.dataset], seq);
}

// Takes out of the buffer what is not to be shown, or notes what is. The bytes that are left.
ssize_t sift(const StreamSource& source, char* buffer, ssize_t size) {
  char* kept = buffer;
  for (char *at = buffer, *end = buffer + size; at < end;) {
    const struct dirent64& entry = *reinterpret_cast<const struct dirent64*>(at);
    std::size_t length = entry.d_reclen;
    if (std::strcmp(entry.d_name, ".") == 0) zazen::note_listing(source);  // once in each
    if (source.view == nullptr) zazen::note_entry(source, entry);
    if (source.view == nullptr || is_shown(source, entry)) {
      if (kept != at) std::memmove(kept, at, length);
      kept += length;
    }
    at += length;
  }
  return kept - buffer;
}

template <class Forward>
ssize_t read_entries(int fd, void* buffer, Forward forward) {
  if (!zazen::listings_are_watched()) [[likely]]
    return forward();
  StreamSource source = zazen::source_of_fd(fd);
  if (!source) return forward();
  for (;;) {
    ssize_t got = forward();
    if (got <= 0) return got;
    got = sift(source, static_cast<char*>(buffer), got);
    if (got > 0) return got;
  }
}

// Base is where the first batch began, also if the second was the first to have names.
template <class Offset>
ssize_t read_from_base(ssize_t (*forward)(int, char*, size_t, Offset*), int fd, char* buffer,
                       size_t size, Offset* base) {
  Offset later;
  Offset* where = base;
  return read_entries(fd, buffer, [&] {
    ssize_t got = forward(fd, buffer, size, where);
    where = &later;
    return got;
  });
}

}  // namespace

ZAZEN_HOOK ssize_t getdents64(int fd, void* buffer, size_t size) {
  return read_entries(fd, buffer, [&] {
    return ZAZEN_FORWARD(getdents64, (fd, buffer, size),
                         zazen::raw::call(SYS_getdents64, fd, buffer, size));
  });
}

ZAZEN_HOOK ssize_t getdirentries(int fd, char* buffer, size_t size, off_t* base) {
  return read_from_base(late(next.getdirentries), fd, buffer, size, base);
}

ZAZEN_HOOK ssize_t getdirentries64(int fd, char* buffer, size_t size, off64_t* base) {
  return read_from_base(late(next.getdirentries64), fd, buffer, size, base);
}
