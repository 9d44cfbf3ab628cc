/* ftw and nftw in both spellings, with every flag, with few descriptors, over the dataset,
   links to it, and a tree with cycles and forbidden directories. */
#include <ftw.h>
#include <malloc.h>

#include "tree.h"

static const char* special; /* on a name with this in it the function returns: */
static int answer;
static int calls;

static int answer_to(const char* path) {
  ++calls;
  return special != NULL && strstr(path, special) != NULL ? answer : 0;
}

static void show(const char* path, const struct stat* st, int type) {
  printf("  %s %d", path, type);
  if (type != FTW_NS) {
    printf(" %llu %lld %o", (unsigned long long)st->st_ino, (long long)st->st_size,
           st->st_mode);
  }
}

static int visit(const char* path, const struct stat* st, int type) {
  show(path, st, type);
  printf(" fd %d\n", next_fd());
  return answer_to(path);
}
static int visit_64(const char* path, const struct stat64* st, int type) {
  return visit(path, (const struct stat*)st, type);
}
static int visit_n(const char* path, const struct stat* st, int type, struct FTW* at) {
  show(path, st, type);
  printf(" base %d level %d fd %d in %s\n", at->base, at->level, next_fd(),
         working_directory());
  return answer_to(path);
}
static int visit_n64(const char* path, const struct stat64* st, int type, struct FTW* at) {
  return visit_n(path, (const struct stat*)st, type, at);
}
static int visit_silently(const char* path, const struct stat* st, int type, struct FTW* at) {
  (void)st, (void)type, (void)at;
  return answer_to(path);
}
static int climb(const char* path, const struct stat* st, int type, struct FTW* at) {
  (void)st;
  printf("  '%s' %d base %d level %d\n", path, type, at->base, at->level);
  return FTW_SKIP_SIBLINGS;
}

static void result(const char* what, const char* path, int value) {
  printf("%s %s: %d %s\n", what, path, value, value == -1 ? strerrorname_np(errno) : "");
}

static void walk(const char* path) {
  for (int limit = -1; limit < 4; ++limit) {
    result("ftw", path, ftw(path, visit, limit));
    result("ftw64", path, ftw64(path, visit_64, limit));
    for (int flags = 0; flags < 32; ++flags) {
      printf("flags %d limit %d\n", flags, limit);
      result("nftw", path, nftw(path, visit_n, limit, flags));
    }
    result("nftw64", path, nftw64(path, visit_n64, limit, FTW_PHYS));
  }
  printf("then in %s\n", working_directory());
}

static void stop_at(const char* path, const char* name) {
  special = name;
  int answers[] = {7, -1, FTW_STOP, FTW_SKIP_SUBTREE, FTW_SKIP_SIBLINGS};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i) {
    answer = answers[i];
    for (int flags = 0; flags < 32; flags += 4) {
      printf("at %s answer %d flags %d\n", name, answer, flags);
      errno = 0;
      result("nftw", path, nftw(path, visit_n, 2, flags | FTW_PHYS));
    }
    result("ftw", path, ftw(path, visit, 2));
  }
  special = NULL;
}

static size_t allocated_after(const char* path, int flags, int value) {
  special = "y1";
  answer = value;
  nftw(path, visit_silently, 2, flags);
  special = NULL;
  return mallinfo2().uordblks;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* tree = lock_tree(argv[1]);
  walk(argv[1]);
  walk(join(argv[1], "../link"));
  walk(join(argv[1], "../link/"));
  walk(join(argv[1], "../tree//"));
  walk(join(argv[1], "../loops"));
  walk(join(argv[1], "none"));
  walk(join(argv[1], "f3"));
  walk(join(argv[1], "f77"));
  walk(join(tree, "to_nowhere"));
  walk("");
  stop_at(tree, "b");
  stop_at(tree, "x");
  stop_at(tree, "f");
  result("unknown flags", tree, nftw(tree, visit_n, 4, 32));
  result("to the root", "/", nftw("/", climb, 4, FTW_PHYS | FTW_DEPTH | FTW_ACTIONRETVAL));
  result("in the root", "/", nftw("/", climb, 4, FTW_PHYS | FTW_CHDIR | FTW_ACTIONRETVAL));

  chdir(tree);
  walk(".");
  walk("a");
  become_ordinary();
  walk(".");
  walk("unfound");
  walk("closed");
  become_oneself();

  /* The allocator's own caches fill during the first turns. */
  for (int flags = 0; flags < 32; ++flags) {
    for (int value = -1; value < 4; ++value) {
      size_t kept = 0, now = 0;
      for (int turn = 0; turn < 24; ++turn) {
        now = allocated_after(".", flags, value);
        if (turn == 11) kept = now;
      }
      if (now != kept) printf("nftw keeps memory, flags %d, answer %d\n", flags, value);
    }
  }
  printf("%d calls\n", calls);
  unlock_tree(tree);
  return 0;
}
