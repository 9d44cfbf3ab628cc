/* The names in one directory by every road: one line for each call, the names sorted.

     listing_roads START BELOW [CALL]...

   The directory is START/BELOW, or START if BELOW is "". Walks begin at START and tell of what
   they find in that directory. */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r is still called */

static const char* start;
static char directory[4000];
static struct stat target;
static char** names;
static size_t count, capacity;

static void note(const char* name) {
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
  if (count == capacity) {
    capacity = 2 * capacity + 64;
    names = realloc(names, capacity * sizeof *names);
  }
  names[count++] = strdup(name);
}

static int compare(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static void show(const char* call) {
  qsort(names, count, sizeof *names, compare);
  printf("%s:", call);
  for (size_t i = 0; i < count; ++i) {
    printf(" %s", names[i]);
    free(names[i]);
  }
  puts("");
  count = 0;
}

static void by_readdir(void) {
  DIR* dir = opendir(directory);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) note(entry->d_name);
  closedir(dir);
}
static void by_readdir64(void) {
  DIR* dir = fdopendir(open(directory, O_RDONLY | O_DIRECTORY));
  for (struct dirent64* entry; (entry = readdir64(dir)) != NULL;) note(entry->d_name);
  closedir(dir);
}
static void by_readdir_r(void) {
  DIR* dir = opendir(directory);
  struct dirent own, *entry;
  while (readdir_r(dir, &own, &entry) == 0 && entry != NULL) note(entry->d_name);
  closedir(dir);
}
static void by_readdir64_r(void) {
  DIR* dir = opendir(directory);
  struct dirent64 own, *entry;
  while (readdir64_r(dir, &own, &entry) == 0 && entry != NULL) note(entry->d_name);
  closedir(dir);
}

static void take(int found, struct dirent** list) {
  for (int i = 0; i < found; ++i) {
    note(list[i]->d_name);
    free(list[i]);
  }
  if (found >= 0) free(list);
}
static void by_scandir(void) {
  struct dirent** list;
  int found = scandir(directory, &list, NULL, alphasort);
  take(found, list);
}
static void by_scandir64(void) {
  struct dirent64** list;
  int found = scandir64(directory, &list, NULL, NULL);
  take(found, (struct dirent**)list);
}
static void by_scandirat(void) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  struct dirent** list;
  int found = scandirat(fd, ".", &list, NULL, versionsort);
  take(found, list);
  close(fd);
}
static void by_scandirat64(void) {
  struct dirent64** list;
  int found = scandirat64(AT_FDCWD, directory, &list, NULL, NULL);
  take(found, (struct dirent**)list);
}

static const char* last_component(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}
static void by_glob(void) {
  glob_t found = {0};
  glob(join(directory, "*"), 0, NULL, &found);
  for (size_t i = 0; i < found.gl_pathc; ++i) note(last_component(found.gl_pathv[i]));
  globfree(&found);
}
static void by_glob64(void) {
  glob64_t found = {0};
  glob64(join(directory, "*"), GLOB_NOSORT, NULL, &found);
  for (size_t i = 0; i < found.gl_pathc; ++i) note(last_component(found.gl_pathv[i]));
  globfree64(&found);
}

/* A walk that found path: if it lies in the directory, its name counts. */
static int found_path(const char* path) {
  char parent[4096];
  const char* name = last_component(path);
  struct stat st;
  if (name == path) return 0;
  snprintf(parent, sizeof parent, "%.*s", (int)(name - path), path);
  if (stat(parent, &st) == 0 && st.st_dev == target.st_dev && st.st_ino == target.st_ino) {
    note(name);
  }
  return 0;
}
static int visit(const char* path, const struct stat* st, int type) {
  (void)st, (void)type;
  return found_path(path);
}
static int visit64(const char* path, const struct stat64* st, int type) {
  (void)st, (void)type;
  return found_path(path);
}
static int visit_n(const char* path, const struct stat* st, int type, struct FTW* at) {
  (void)st, (void)type;
  return at->level == 0 ? 0 : found_path(path);
}
static int visit_n64(const char* path, const struct stat64* st, int type, struct FTW* at) {
  (void)st, (void)type;
  return at->level == 0 ? 0 : found_path(path);
}
static void by_ftw(void) {
  ftw(start, visit, 5);
}
static void by_ftw64(void) {
  ftw64(start, visit64, 5);
}
static void by_nftw(void) {
  nftw(start, visit_n, 1, 0);
}
static void by_nftw64(void) {
  nftw64(start, visit_n64, 5, FTW_DEPTH);
}

static FTS* open_fts(void) {
  return fts_open((char*[]){(char*)start, NULL}, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                  NULL);
}
static FTS64* open_fts64(void) {
  return fts64_open((char*[]){(char*)start, NULL}, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOSTAT,
                    NULL);
}
static void by_fts_read(void) {
  FTS* stream = open_fts();
  for (FTSENT* entry; (entry = fts_read(stream)) != NULL;) {
    if (entry->fts_level > 0 && entry->fts_info != FTS_DP) found_path(entry->fts_path);
  }
  fts_close(stream);
}
static void by_fts64_read(void) {
  FTS64* stream = open_fts64();
  for (FTSENT64* entry; (entry = fts64_read(stream)) != NULL;) {
    if (entry->fts_info == FTS_DP || entry->fts_level == 0) continue;
    if (entry->fts_parent->fts_ino == target.st_ino) note(entry->fts_name);
  }
  fts64_close(stream);
}
static void by_fts_children(void) {
  FTS* stream = open_fts();
  for (FTSENT* entry; (entry = fts_read(stream)) != NULL;) {
    if (entry->fts_info != FTS_D || entry->fts_ino != target.st_ino) continue;
    for (FTSENT* each = fts_children(stream, 0); each != NULL; each = each->fts_link) {
      note(each->fts_name);
    }
    fts_set(stream, entry, FTS_SKIP);
  }
  fts_close(stream);
}
static void by_fts64_children(void) {
  FTS64* stream = open_fts64();
  for (FTSENT64* entry; (entry = fts64_read(stream)) != NULL;) {
    if (entry->fts_info != FTS_D || entry->fts_ino != target.st_ino) continue;
    FTSENT64* each = fts64_children(stream, FTS_NAMEONLY);
    for (; each != NULL; each = each->fts_link) note(each->fts_name);
    fts64_set(stream, entry, FTS_SKIP);
  }
  fts64_close(stream);
}

static void read_all(ssize_t (*next)(int fd, char* buffer, size_t size), size_t name_at) {
  char buffer[40]; /* one name in each batch, so that some batches have none of this rank's */
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  ssize_t got;
  while ((got = next(fd, buffer, sizeof buffer)) > 0) {
    for (char* at = buffer; at < buffer + got; at += ((struct dirent64*)at)->d_reclen) {
      note(at + name_at);
    }
  }
  close(fd);
}
static ssize_t next_getdents(int fd, char* buffer, size_t size) {
  return getdents64(fd, buffer, size);
}
static ssize_t next_old(int fd, char* buffer, size_t size) {
  return syscall(SYS_getdents, fd, buffer, size);
}
static ssize_t next_direntries(int fd, char* buffer, size_t size) {
  off_t base;
  return getdirentries(fd, buffer, size, &base);
}
static ssize_t next_direntries64(int fd, char* buffer, size_t size) {
  off64_t base;
  return getdirentries64(fd, buffer, size, &base);
}
static void by_getdents64(void) {
  read_all(next_getdents, offsetof(struct dirent64, d_name));
}
static void by_getdents(void) {
  read_all(next_old, offsetof(struct dirent64, d_type)); /* whose entries have no type there */
}
static void by_getdirentries(void) {
  read_all(next_direntries, offsetof(struct dirent64, d_name));
}
static void by_getdirentries64(void) {
  read_all(next_direntries64, offsetof(struct dirent64, d_name));
}

#define ROAD(call) \
  { #call, by_##call }
static const struct {
  const char* call;
  void (*go)(void);
} roads[] = {ROAD(readdir),     ROAD(readdir64),     ROAD(readdir_r),
             ROAD(readdir64_r), ROAD(scandir),       ROAD(scandir64),
             ROAD(scandirat),   ROAD(scandirat64),   ROAD(glob),
             ROAD(glob64),      ROAD(ftw),           ROAD(ftw64),
             ROAD(nftw),        ROAD(nftw64),        ROAD(fts_read),
             ROAD(fts64_read),  ROAD(fts_children),  ROAD(fts64_children),
             ROAD(getdents64),  ROAD(getdirentries), ROAD(getdirentries64),
             ROAD(getdents)};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  start = argv[1];
  snprintf(directory, sizeof directory, "%s%s%s", start, *argv[2] == '\0' ? "" : "/", argv[2]);
  if (stat(directory, &target) != 0) return 1;
  for (size_t i = 0; i < sizeof roads / sizeof *roads; ++i) {
    int wanted = argc == 3;
    for (int j = 3; j < argc; ++j) wanted |= strcmp(argv[j], roads[i].call) == 0;
    if (!wanted) continue;
    roads[i].go();
    show(roads[i].call);
  }
  return 0;
}
