// DirectoryStream: the shim's state for an open DIR over a dataset's frame directory.
//
// With a view the stream is synthesised, and the origin's entries are never read. First come
// the names that are no frames, then the rank's own frames in ascending order. With a ledger
// and no view, the entries are the real ones and their names are noted.
//
// A table has the streams, with the DIR's address as key: a fixed array, then blocks that are
// mapped as needed and kept. No lock: a compare-and-swap claims a slot. While no stream is
// open, a look-up costs one load.
#pragma once
#include <dirent.h>
#include <sys/stat.h>

#include "preload/process/current_view.h"
#include "preload/process/node.h"

namespace zazen {

struct StreamSource {
  const CurrentView* view = nullptr;  // with a view: the dataset's index there
  const Node* node = nullptr;         // without one: the index in the table
  std::uint32_t dataset = 0;

  explicit operator bool() const { return view != nullptr || node != nullptr; }
};

struct DirectoryStream {
  std::atomic<DIR*> key;
  StreamSource source;
  std::atomic<std::uint64_t> position;
  struct dirent64 entry;
};

// The two names that every directory has.
inline bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Whether any listing needs the hooks at all.
bool listings_are_watched();

// The dataset whose frame directory this is, if a view or the ledger needs it. Keeps errno.
StreamSource source_of(const struct stat& directory);
StreamSource source_of_fd(int fd);

// A slot that no look-up finds until it is published; null if there is no memory.
DirectoryStream* claim_stream(const StreamSource& source);
void publish_stream(DirectoryStream* stream, DIR* directory);
void release_stream(DirectoryStream* stream);

DirectoryStream* find_stream(DIR* directory);  // null: not ours
// To be called for a stream that was just opened at this address: an older entry belongs to a
// stream that was closed without our hook.
void forget_closed(DIR* directory);

// The next entry, null at the end. `read_on` is the real readdir64, for a stream that is only
// watched.
struct dirent64* next_entry(DirectoryStream& stream, DIR* directory,
                            struct dirent64* (*read_on)(DIR*));
// Fills *out with a synthesised stream's next entry; false at the end.
bool take_entry(DirectoryStream& stream, struct dirent64* out);
// Notes that a listing of the directory begins: the view's tally counts it.
void note_listing(const StreamSource& source);
// Without a view: notes that the name was shown.
void note_entry(const StreamSource& source, const char* name, unsigned char type);

// The old system call getdents, which getdents64 has replaced, with the same filter.
ssize_t read_old_entries(int fd, void* buffer, unsigned int size);

}  // namespace zazen
