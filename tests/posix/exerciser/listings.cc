// Every way to list a directory. The order of the names is the file system's own affair.
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>

#include "actor.h"
#include "kernel.h"

namespace exerciser {
namespace {

struct KernelEntry {  // of getdents64
  std::uint64_t ino;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

thread_local std::vector<std::string>* walked;

std::string described(const char* name, long size, int kind) {
  return std::string(name) + " " + std::to_string(size) + " " + std::to_string(kind);
}

// A directory's size is the file system's own affair, too.
long size_of(const struct stat* st) {
  return st == nullptr || S_ISDIR(st->st_mode) ? 0 : static_cast<long>(st->st_size);
}

int visit(const char* path, const struct stat* st, int kind, FTW* where) {
  walked->push_back(described(path, size_of(st), kind * 100 + where->level));
  return 0;
}

int by_name(const FTSENT** a, const FTSENT** b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

int frames_only(const dirent* entry) {
  return entry->d_name[0] == 'f';
}

// The name, its kind, and whether its inode is the one that the origin's path has.
std::string entry_described(const std::string& directory, const char* name, std::uint64_t ino,
                            int type) {
  std::string path = directory + "/" + name;
  struct stat st = {};
  kernel::stat_at(AT_FDCWD, path.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  bool same = st.st_ino == ino || strcmp(name, "..") == 0;
  return described(name, type, same ? 1 : 0);
}

}  // namespace

void Actor::list() {
  bool own = chance(50);
  Name name = spell(own, ".", -1, Spelling::kAny);
  note_name(name);
  DIR* stream;
  if (name.dirfd == AT_FDCWD) {
    stream = opendir(name.path.c_str());
  } else {
    int fd = openat(name.dirfd, name.path.c_str(), O_RDONLY | O_DIRECTORY);
    note_number(fd);
    stream = fd < 0 ? nullptr : fdopendir(fd);
  }
  if (stream == nullptr) return journal_.result(-1);
  note_number(dirfd(stream));
  std::vector<std::string> names;
  bool wide = chance(50);
  errno = 0;
  for (;;) {
    if (wide) {
      dirent64* entry = readdir64(stream);
      if (entry == nullptr) break;
      names.push_back(
          entry_described(directory(own), entry->d_name, entry->d_ino, entry->d_type));
    } else {
      dirent* entry = readdir(stream);
      if (entry == nullptr) break;
      names.push_back(
          entry_described(directory(own), entry->d_name, entry->d_ino, entry->d_type));
    }
  }
  journal_.add(" errno %d", errno);
  journal_.result(closedir(stream));
  note_names(std::move(names));
}

void Actor::list_by_call() {
  bool own = chance(50);
  Name name = spell(own, ".", -1, Spelling::kAny);
  note_name(name);
  int fd = openat(name.dirfd, name.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  note_number(fd);
  if (fd < 0) return;
  alignas(KernelEntry) char buffer[600];
  std::vector<std::string> names;
  bool by_syscall = chance(50);
  for (;;) {
    long got = by_syscall ? syscall(SYS_getdents64, fd, buffer, sizeof buffer)
                          : getdents64(fd, buffer, sizeof buffer);
    if (got <= 0) {
      journal_.result(got);
      break;
    }
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const KernelEntry*>(buffer + at);
      names.push_back(entry_described(directory(own), entry->name, entry->ino, entry->type));
      at += entry->length;
    }
  }
  close(fd);
  note_names(std::move(names));
}

void Actor::seek_directory() {
  bool own = chance(50);
  DIR* stream = opendir(directory(own).c_str());
  if (stream == nullptr) return journal_.result(-1);
  std::map<std::string, long> places;
  std::vector<std::string> names;
  for (;;) {
    long at = telldir(stream);
    dirent* entry = readdir(stream);
    if (entry == nullptr) break;
    names.push_back(entry->d_name);
    places[entry->d_name] = at;
  }
  int wrong = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const std::string& wanted =
        names[static_cast<std::size_t>(random(static_cast<long>(names.size())))];
    seekdir(stream, places[wanted]);
    dirent* entry = readdir(stream);
    wrong += entry == nullptr || wanted != entry->d_name;
  }
  rewinddir(stream);
  std::size_t again = 0;
  while (readdir(stream) != nullptr) ++again;
  closedir(stream);
  journal_.add(" wrong %d again %zu", wrong, again);
  note_names(std::move(names));
}

void Actor::scan() {
  bool own = chance(50);
  Name name = spell(own, ".", -1, Spelling::kAny);
  note_name(name);
  dirent** entries = nullptr;
  auto* filter = chance(50) ? frames_only : nullptr;
  int count = scandirat(name.dirfd, name.path.c_str(), &entries, filter, alphasort);
  if (name.dirfd == AT_FDCWD && chance(70)) {
    for (int i = 0; i < count; ++i) free(entries[i]);
    free(entries);
    entries = nullptr;
    count = scandir(name.path.c_str(), &entries, filter, alphasort);
  }
  journal_.result(count);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(entry_described(directory(own), entries[i]->d_name, entries[i]->d_ino,
                                    entries[i]->d_type));
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  note_names(std::move(names));
}

void Actor::glob_names() {
  static const char* const kPatterns[] = {"f*",       "f?", "f[1-3]*", "*.txt",
                                          "nothing*", "f1", "*/"};
  Name name = spell(chance(50), kPatterns[random(7)], -1, Spelling::kPath);
  note_name(name);
  glob_t found = {};
  int flags = (chance(30) ? GLOB_MARK : 0) | (chance(20) ? GLOB_NOCHECK : 0) |
              (chance(20) ? GLOB_NOSORT : 0) | (chance(20) ? GLOB_ONLYDIR : 0);
  journal_.add(" %o", static_cast<unsigned>(flags));
  journal_.result(glob(name.path.c_str(), flags, nullptr, &found));
  note_names({found.gl_pathv, found.gl_pathv + found.gl_pathc});
  globfree(&found);
}

void Actor::walk_nftw() {
  std::vector<std::string> names;
  walked = &names;
  std::string top = directory(chance(50));
  journal_.add(" %s", top.c_str());
  journal_.result(nftw(top.c_str(), visit, 5, chance(50) ? FTW_PHYS : 0));
  note_names(std::move(names));
}

void Actor::walk_fts() {
  std::string top = directory(chance(50));
  char* tops[] = {top.data(), nullptr};
  int options =
      FTS_NOCHDIR | (chance(50) ? FTS_PHYSICAL : FTS_LOGICAL) | (chance(20) ? FTS_NOSTAT : 0);
  FTS* walk = fts_open(tops, options, chance(50) ? by_name : nullptr);
  journal_.add(" %s %o", top.c_str(), static_cast<unsigned>(options));
  if (walk == nullptr) return journal_.result(-1);
  std::vector<std::string> names;
  while (FTSENT* entry = fts_read(walk)) {
    bool has_stat =
        (options & FTS_NOSTAT) == 0 && (entry->fts_info == FTS_F || entry->fts_info == FTS_SL);
    names.push_back(described(entry->fts_path, has_stat ? size_of(entry->fts_statp) : 0,
                              entry->fts_info * 100 + entry->fts_level));
  }
  journal_.result(fts_close(walk));
  note_names(std::move(names));
}

}  // namespace exerciser
