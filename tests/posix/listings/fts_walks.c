/* fts in both spellings: every option, instruction and kind of entry, over the dataset and a
   tree with cycles and forbidden directories. */
#include <fts.h>
#include <malloc.h>

#include "tree.h"

enum {
  kPlain,
  kSkip,
  kFollow,
  kAgain,
  kChildren,
  kNames,
  kNamesOfNone,
  kSkipChild,
  kFollowChild,
  kEnough
};
static const char* const policies[] = {
    "plain", "skip",          "follow",       "again",          "children",
    "names", "names of none", "skip a child", "follow a child", "enough"};
static int silent;
/* Descriptors are counted from where the walk began; libc's fts loses some behind links. */
static int first_fd, loses_fds;
static int open_fds(void) {
  return loses_fds ? -1 : next_fd() - first_fd;
}

static int by_name(const FTSENT** a, const FTSENT** b) {
  return strcmp((*a)->fts_name, (*b)->fts_name);
}
static int by_name_64(const FTSENT64** a, const FTSENT64** b) {
  return strcmp((*b)->fts_name, (*a)->fts_name);
}

static void show(const char* what, const FTS* stream, const FTSENT* entry) {
  if (silent) return;
  printf("%s%d level %d %s name %s %d errno %d number %ld", what, entry->fts_info,
         entry->fts_level, entry->fts_accpath == NULL ? "-" : entry->fts_accpath,
         entry->fts_name, entry->fts_namelen, entry->fts_errno, entry->fts_number);
  if (what[2] != ' ') printf(" path %s %d", entry->fts_path, entry->fts_pathlen);
  if (entry->fts_info == FTS_DC) printf(" cycle %s", entry->fts_cycle->fts_name);
  if ((stream->fts_options & FTS_NOSTAT) == 0 && entry->fts_info != FTS_NS &&
      entry->fts_info != FTS_NSOK) {
    printf(" ino %llu size %lld", (unsigned long long)entry->fts_statp->st_ino,
           (long long)entry->fts_statp->st_size);
  }
  printf(" fd %d in %s\n", open_fds(), working_directory());
}

static void look_ahead(FTS* stream, int policy) {
  int names_only = policy == kNames || (policy == kNamesOfNone &&
                                        strstr(stream->fts_cur->fts_name, "empty") != NULL);
  FTSENT* child = fts_children(stream, names_only ? FTS_NAMEONLY : 0);
  if (child == NULL && !silent) printf("    no children %s\n", strerrorname_np(errno));
  for (; child != NULL; child = child->fts_link) {
    if (names_only) {
      if (!silent) printf("    %s\n", child->fts_name);
    } else {
      show("    ", stream, child);
      child->fts_number = 5;
    }
    if (policy == kSkipChild && strstr("x b", child->fts_name))
      fts_set(stream, child, FTS_SKIP);
    if (policy == kFollowChild && child->fts_info == FTS_SL) fts_set(stream, child, FTS_FOLLOW);
  }
}

static void walk(char* const* tops, int options, int policy, int sorted) {
  first_fd = next_fd();
  loses_fds = policy == kFollow || policy == kFollowChild;
  FTS* stream = fts_open(tops, options, sorted ? by_name : NULL);
  if (!silent) printf("options %d %s%s\n", options, policies[policy], sorted ? " sorted" : "");
  if (stream == NULL) {
    if (!silent) printf("fts_open: %s\n", strerrorname_np(errno));
    return;
  }
  if (policy == kChildren) look_ahead(stream, policy);
  FTSENT* entry;
  int count = 0;
  while ((entry = fts_read(stream)) != NULL) {
    show("  ", stream, entry);
    if (policy == kEnough && ++count == 9) break;
    ++entry->fts_number;
    if (policy == kSkip && strcmp(entry->fts_name, "b") == 0) fts_set(stream, entry, FTS_SKIP);
    if (policy == kFollow && entry->fts_number < 2) fts_set(stream, entry, FTS_FOLLOW);
    if (policy == kAgain && entry->fts_number < 2) fts_set(stream, entry, FTS_AGAIN);
    if (policy >= kChildren && policy <= kFollowChild && entry->fts_info == FTS_D) {
      look_ahead(stream, policy);
    }
  }
  int failure = errno;
  int status = fts_close(stream);
  if (!silent) {
    printf("end %s close %d fd %d in %s\n", entry == NULL ? strerrorname_np(failure) : "-",
           status, open_fds(), working_directory());
  }
  if (loses_fds) closefrom(first_fd);
}

static void walk_64(char* const* tops, int options) {
  first_fd = next_fd();
  loses_fds = 0;
  FTS64* stream = fts64_open(tops, options, by_name_64);
  FTSENT64* entry;
  while ((entry = fts64_read(stream)) != NULL) {
    show("64 ", (FTS*)stream, (FTSENT*)entry);
    if (strcmp(entry->fts_name, "b") == 0) fts64_set(stream, entry, FTS_SKIP);
    for (FTSENT64* child = fts64_children(stream, 0); child != NULL; child = child->fts_link) {
      printf("    %s\n", child->fts_name);
    }
  }
  printf("end %s close %d\n", strerrorname_np(errno), fts64_close(stream));
}

static void walk_all(char* const* tops) {
  static const int ways[] = {FTS_PHYSICAL, FTS_LOGICAL, FTS_PHYSICAL | FTS_NOSTAT,
                             FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, FTS_LOGICAL | FTS_NOSTAT};
  static const int more[] = {0,          FTS_NOCHDIR, FTS_COMFOLLOW,
                             FTS_SEEDOT, FTS_XDEV,    FTS_COMFOLLOW | FTS_SEEDOT | FTS_NOCHDIR};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    for (size_t j = 0; j < sizeof more / sizeof *more; ++j) {
      for (int policy = kPlain; policy <= kEnough; ++policy) {
        /* libc compares with a device that it never asked for. */
        if (more[j] == FTS_XDEV && (policy == kFollow || policy == kFollowChild)) continue;
        walk(tops, ways[i] | more[j], policy, (i + j) % 2 == 1);
      }
    }
  }
  walk_64(tops, FTS_PHYSICAL);
}

static char* keep(const char* path) {
  static char paths[8][4096];
  static int turn;
  return strcpy(paths[turn++], path);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* tree = lock_tree(argv[1]);
  char* link = keep(join(argv[1], "../link"));
  char* tree_link = keep(join(tree, "to_b/"));
  char* loop = keep(join(argv[1], "../loops"));
  char* file = keep(join(argv[1], "f3"));
  char* none = keep(join(argv[1], "none"));
  walk_all((char*[]){argv[1], NULL});
  walk_all((char*[]){link, (char*)tree, loop, NULL});
  walk_all((char*[]){tree_link, none, file, "/dev/null", NULL});
  walk((char*[]){file, "", NULL}, FTS_PHYSICAL, kPlain, 0);
  walk((char*[]){file, NULL}, 0x1000, kPlain, 0);
  chdir(tree);
  walk_all((char*[]){".", NULL});
  become_ordinary();
  walk_all((char*[]){"a", "to_b", "to_empty", NULL});
  walk_all((char*[]){"unread", "unfound", "closed", NULL});
  walk_all((char*[]){".", NULL});
  become_oneself();

  FTS* stream = fts_open((char*[]){"a", NULL}, FTS_PHYSICAL, NULL);
  FTSENT* entry = fts_read(stream);
  printf("unknown instructions %d %s", fts_set(stream, entry, 99), strerrorname_np(errno));
  printf(" %d %s\n", fts_children(stream, 99) == NULL, strerrorname_np(errno));
  fts_close(stream);

  /* The allocator's own caches fill during the first turns. */
  silent = 1;
  for (int policy = kPlain; policy <= kEnough; ++policy) {
    size_t kept = 0;
    for (int turn = 0; turn < 24; ++turn) {
      walk((char*[]){".", NULL}, FTS_PHYSICAL, policy, 1);
      walk((char*[]){".", NULL}, FTS_LOGICAL | FTS_NOSTAT, policy, 0);
      if (turn == 11) kept = mallinfo2().uordblks;
    }
    if (mallinfo2().uordblks != kept) printf("fts keeps memory, %s\n", policies[policy]);
  }
  unlock_tree(tree);
  return 0;
}
