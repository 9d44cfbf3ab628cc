#include "preload/listings/tree_stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"

namespace zazen {
namespace {

constexpr int kOurs = 1 << 30;
constexpr std::size_t kLongestName = 256;

int open_here() {
  return openat(AT_FDCWD, ".", O_RDONLY);
}

void close_quietly(int fd) {
  ErrnoKeeper keep;
  raw::close(fd);
}

}  // namespace

FTS* TreeStream::open(char* const* tops, int options, Compare compare) {
  if ((options & ~FTS_OPTIONMASK) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  auto* stream = static_cast<TreeStream*>(::calloc(1, sizeof(TreeStream)));
  if (stream == nullptr) return nullptr;
  FTS& fts = stream->fts_;
  fts.fts_options = options | kOurs;
  if ((options & FTS_LOGICAL) != 0) fts.fts_options |= FTS_NOCHDIR;
  fts.fts_rfd = -1;
  fts.fts_compar = reinterpret_cast<int (*)(const void*, const void*)>(
      reinterpret_cast<void (*)()>(compare));
  if (!stream->add_tops(tops)) {
    ErrnoKeeper keep;
    if (fts.fts_cur != nullptr) free_list(fts.fts_cur);
    if (stream->last_parent_ != nullptr) free_entry(stream->last_parent_);
    ::free(fts.fts_path);
    ::free(stream);
    return nullptr;
  }
  if (!stream->has(FTS_NOCHDIR)) {
    fts.fts_rfd = open_here();
    if (fts.fts_rfd < 0) fts.fts_options |= FTS_NOCHDIR;
  }
  return &fts;
}

// The first entry is a hidden one, which holds the list of tops.
bool TreeStream::add_tops(char* const* tops) {
  std::size_t longest = kLongestPath;
  for (char* const* top = tops; *top != nullptr; ++top) {
    std::size_t length = std::strlen(*top);
    if (length > longest) longest = length;
  }
  fts_.fts_pathlen = static_cast<int>(longest + kLongestName + 2);
  fts_.fts_path = static_cast<char*>(::malloc(static_cast<std::size_t>(fts_.fts_pathlen)));
  fts_.fts_cur = make_entry("", 0);
  last_parent_ = make_entry("", 0);
  if (fts_.fts_path == nullptr || fts_.fts_cur == nullptr || last_parent_ == nullptr) {
    return false;
  }
  fts_.fts_cur->fts_info = FTS_INIT;
  last_parent_->fts_level = FTS_ROOTPARENTLEVEL;
  fts_.fts_cur->fts_parent = last_parent_;
  FTSENT*& first = fts_.fts_cur->fts_link;
  FTSENT* last = nullptr;
  std::size_t count = 0;
  for (; *tops != nullptr; ++tops, ++count) {
    std::size_t length = std::strlen(*tops);
    if (length == 0) {
      errno = ENOENT;
      return false;
    }
    FTSENT* top = make_entry(*tops, length);
    if (top == nullptr) return false;
    top->fts_level = FTS_ROOTLEVEL;
    top->fts_parent = last_parent_;
    top->fts_accpath = top->fts_name;
    top->fts_info = classify(top, has(FTS_COMFOLLOW));
    if (top->fts_info == FTS_DOT) top->fts_info = FTS_D;
    if (last == nullptr || fts_.fts_compar != nullptr) {  // before a sort the list is reversed
      top->fts_link = first;
      first = top;
    } else {
      last->fts_link = top;
    }
    last = top;
  }
  first = sort(first, count);
  return true;
}

TreeStream* TreeStream::of(FTS* stream) {
  static_assert(std::is_standard_layout_v<TreeStream>);
  if ((stream->fts_options & kOurs) == 0) return nullptr;
  return reinterpret_cast<TreeStream*>(stream);
}

FTSENT* TreeStream::make_entry(const char* name, std::size_t length) const {
  std::size_t size = offsetof(FTSENT, fts_name) + length + 1;
  if (size < sizeof(FTSENT)) size = sizeof(FTSENT);
  size = (size + alignof(struct stat) - 1) & ~(alignof(struct stat) - 1);
  std::size_t status_size = has(FTS_NOSTAT) ? 0 : sizeof(struct stat);
  void* memory = ::calloc(1, size + status_size);
  if (memory == nullptr) return nullptr;
  FTSENT* entry = static_cast<FTSENT*>(memory);
  if (status_size != 0) {
    entry->fts_statp = reinterpret_cast<struct stat*>(static_cast<char*>(memory) + size);
  }
  std::memcpy(entry->fts_name, name, length);
  entry->fts_namelen = static_cast<unsigned short>(length);
  entry->fts_path = fts_.fts_path;
  entry->fts_instr = FTS_NOINSTR;
  return entry;
}

void TreeStream::free_entry(FTSENT* entry) {
  if ((entry->fts_flags & FTS_SYMFOLLOW) != 0) close_quietly(entry->fts_symfd);
  ::free(entry);
}

void TreeStream::free_list(FTSENT* list) {
  while (list != nullptr) {
    FTSENT* next = list->fts_link;
    free_entry(list);
    list = next;
  }
}

void TreeStream::drop_children() {
  free_list(fts_.fts_child);
  fts_.fts_child = nullptr;
}

int TreeStream::close() {
  FTSENT* entry = fts_.fts_cur;
  while (entry != nullptr) {
    FTSENT* next = entry->fts_link != nullptr ? entry->fts_link : entry->fts_parent;
    free_entry(entry);
    entry = next;
  }
  drop_children();
  int failure = 0;
  if (fts_.fts_rfd >= 0) {
    if (::fchdir(fts_.fts_rfd) != 0) failure = errno;
    close_quietly(fts_.fts_rfd);
  }
  ::free(fts_.fts_array);
  ::free(fts_.fts_path);
  ::free(this);
  if (failure == 0) return 0;
  errno = failure;
  return -1;
}

FTSENT* TreeStream::read() {
  FTSENT* entry = fts_.fts_cur;
  if (entry == nullptr || has(FTS_STOP)) return nullptr;
  int instruction = entry->fts_instr;
  entry->fts_instr = FTS_NOINSTR;
  if (instruction == FTS_AGAIN) {
    entry->fts_info = classify(entry, false);
    return entry;
  }
  if (instruction == FTS_FOLLOW &&
      (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE)) {
    follow(entry);
    return entry;
  }
  if (entry->fts_info != FTS_D) return advance(entry);
  if (instruction == FTS_SKIP || (has(FTS_XDEV) && entry->fts_dev != fts_.fts_dev)) {
    drop_children();
    entry->fts_info = FTS_DP;
    return entry;
  }
  return descend(entry);
}

// Keeps a descriptor of the directory, because ".." does not lead back from behind a link.
void TreeStream::follow(FTSENT* entry) {
  entry->fts_info = classify(entry, true);
  if (entry->fts_level == FTS_ROOTLEVEL) fts_.fts_dev = entry->fts_dev;
  if (entry->fts_info != FTS_D || has(FTS_NOCHDIR)) return;
  entry->fts_symfd = open_here();
  if (entry->fts_symfd < 0) {
    entry->fts_errno = errno;
    entry->fts_info = FTS_ERR;
  } else {
    entry->fts_flags |= FTS_SYMFOLLOW;
  }
}

FTSENT* TreeStream::descend(FTSENT* directory) {
  if (fts_.fts_child != nullptr && has(FTS_NAMEONLY)) {  // without a list it stays, as in libc
    fts_.fts_options &= ~FTS_NAMEONLY;
    drop_children();
  }
  if (fts_.fts_child == nullptr) {
    fts_.fts_child = build(Purpose::kRead);
    if (fts_.fts_child == nullptr) return has(FTS_STOP) ? nullptr : directory;
  } else if (!go_into(directory, -1, directory->fts_accpath)) {
    directory->fts_errno = errno;
    directory->fts_flags |= FTS_DONTCHDIR;
    for (FTSENT* child = fts_.fts_child; child != nullptr; child = child->fts_link) {
      child->fts_accpath = directory->fts_accpath;
    }
  }
  FTSENT* child = fts_.fts_child;
  fts_.fts_child = nullptr;
  return show(child);
}

FTSENT* TreeStream::advance(FTSENT* entry) {
  for (;;) {
    FTSENT* next = entry->fts_link;
    if (next == nullptr) return ascend(entry);
    free_entry(entry);
    fts_.fts_cur = entry = next;
    if (entry->fts_level == FTS_ROOTLEVEL) {
      if (!go_to(fts_.fts_rfd)) return stop();
      begin_top(entry);
      return entry;
    }
    if (entry->fts_instr == FTS_SKIP) continue;
    if (entry->fts_instr == FTS_FOLLOW) {
      follow(entry);
      entry->fts_instr = FTS_NOINSTR;
    }
    return show(entry);
  }
}

FTSENT* TreeStream::ascend(FTSENT* entry) {
  FTSENT* parent = entry->fts_parent;
  free_entry(entry);
  fts_.fts_cur = parent;
  if (parent->fts_level == FTS_ROOTPARENTLEVEL) {
    free_entry(parent);
    fts_.fts_cur = nullptr;
    errno = 0;
    return nullptr;
  }
  fts_.fts_path[parent->fts_pathlen] = '\0';
  bool back = true;
  if (parent->fts_level != FTS_ROOTLEVEL && (parent->fts_flags & FTS_SYMFOLLOW) != 0) {
    back = go_to(parent->fts_symfd);
  } else if (parent->fts_level == FTS_ROOTLEVEL || (parent->fts_flags & FTS_DONTCHDIR) == 0) {
    back = leave(parent);
  }
  if (!back) return stop();
  parent->fts_info = parent->fts_errno != 0 ? FTS_ERR : FTS_DP;
  return parent;
}

FTSENT* TreeStream::show(FTSENT* entry) {
  char* end = fts_.fts_path + path_end(*entry->fts_parent);
  *end = '/';
  std::memcpy(end + 1, entry->fts_name, entry->fts_namelen + std::size_t{1});
  return fts_.fts_cur = entry;
}

// The offset at which a name is appended to the entry's path and a slash.
std::size_t TreeStream::path_end(const FTSENT& entry) {
  std::size_t length = entry.fts_pathlen;
  return length > 0 && entry.fts_path[length - 1] == '/' ? length - 1 : length;
}

// The path is the whole argument, the name its last component.
void TreeStream::begin_top(FTSENT* top) {
  std::size_t length = std::strlen(top->fts_name);
  top->fts_pathlen = static_cast<unsigned short>(length);
  std::memcpy(fts_.fts_path, top->fts_name, length + 1);
  const char* slash = std::strrchr(top->fts_name, '/');
  if (slash != nullptr && (slash != top->fts_name || slash[1] != '\0')) {
    length = std::strlen(slash + 1);
    std::memmove(top->fts_name, slash + 1, length + 1);
    top->fts_namelen = static_cast<unsigned short>(length);
  }
  top->fts_accpath = top->fts_path = fts_.fts_path;
  fts_.fts_dev = top->fts_dev;
}

FTSENT* TreeStream::children(int instruction) {
  if (instruction != 0 && instruction != FTS_NAMEONLY) {
    errno = EINVAL;
    return nullptr;
  }
  errno = 0;
  FTSENT* entry = fts_.fts_cur;
  if (entry == nullptr || has(FTS_STOP)) return nullptr;
  if (entry->fts_info == FTS_INIT) return entry->fts_link;
  if (entry->fts_info != FTS_D) return nullptr;
  drop_children();
  Purpose purpose = Purpose::kChildren;
  if (instruction == FTS_NAMEONLY) {
    fts_.fts_options |= FTS_NAMEONLY;
    purpose = Purpose::kNames;
  }
  if (entry->fts_level != FTS_ROOTLEVEL || entry->fts_accpath[0] == '/' || has(FTS_NOCHDIR)) {
    return fts_.fts_child = build(purpose);
  }
  int here = open_here();
  if (here < 0) return nullptr;
  fts_.fts_child = build(purpose);
  bool back = ::fchdir(here) == 0;
  close_quietly(here);
  return back ? fts_.fts_child : nullptr;
}

int TreeStream::set(FTSENT* entry, int instruction) {
  if (instruction != 0 && instruction != FTS_AGAIN && instruction != FTS_FOLLOW &&
      instruction != FTS_NOINSTR && instruction != FTS_SKIP) {
    errno = EINVAL;
    return 1;
  }
  entry->fts_instr = static_cast<unsigned short>(instruction);
  return 0;
}

bool TreeStream::go_to(int fd) const {
  return has(FTS_NOCHDIR) || ::fchdir(fd) == 0;
}

// Enters only the directory that was seen, in case another process renames directories.
bool TreeStream::go_into(const FTSENT* directory, int fd, const char* path) const {
  if (has(FTS_NOCHDIR)) return true;
  int opened = fd < 0 ? openat(AT_FDCWD, path, O_RDONLY) : -1;
  if (fd < 0 && opened < 0) return false;
  struct stat st;
  bool done = raw::fstat(fd < 0 ? opened : fd, &st) == 0;
  if (done && (st.st_dev != directory->fts_dev || st.st_ino != directory->fts_ino)) {
    errno = ENOENT;
    done = false;
  }
  done = done && ::fchdir(fd < 0 ? opened : fd) == 0;
  if (opened >= 0) close_quietly(opened);
  return done;
}

bool TreeStream::leave(const FTSENT* directory) const {
  if (directory->fts_level == FTS_ROOTLEVEL) return go_to(fts_.fts_rfd);
  return go_into(directory->fts_parent, -1, "..");
}

FTSENT* TreeStream::stop() {
  fts_.fts_options |= FTS_STOP;
  return nullptr;
}

}  // namespace zazen
