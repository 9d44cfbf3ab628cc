/* glob and glob64: every flag, errors, appended results, functions of the caller's own. */
#include <dirent.h>
#include <glob.h>

#include "tree.h"

static int on_error(const char* path, int error) {
  printf("  error at %s: %s\n", path, strerrorname_np(error));
  return strstr(path, "closed") != NULL;
}

static void show(const char* what, const char* pattern, int status, const glob_t* found) {
  printf("%s %s: %d flags %x count %zu\n", what, pattern, status, found->gl_flags,
         status == 0 ? found->gl_pathc : 0);
  if (status != 0) return;
  for (size_t i = 0; i < found->gl_pathc; ++i)
    printf("  %s\n", found->gl_pathv[found->gl_offs + i]);
}

static void look(const char* pattern) {
  static const int flags[] = {0,
                              GLOB_ERR,
                              GLOB_MARK,
                              GLOB_NOSORT,
                              GLOB_NOCHECK,
                              GLOB_NOESCAPE,
                              GLOB_PERIOD,
                              GLOB_BRACE,
                              GLOB_NOMAGIC,
                              GLOB_TILDE,
                              GLOB_ONLYDIR,
                              GLOB_TILDE_CHECK,
                              GLOB_BRACE | GLOB_MARK | GLOB_NOSORT,
                              GLOB_PERIOD | GLOB_ONLYDIR | GLOB_MARK};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    glob_t found = {0};
    show("glob", pattern, glob(pattern, flags[i], on_error, &found), &found);
    globfree(&found);
    glob64_t found64 = {0};
    int status = glob64(pattern, flags[i] | GLOB_NOSORT, NULL, &found64);
    printf("glob64 %d %zu %x\n", status, found64.gl_pathc, found64.gl_flags);
    globfree64(&found64);
  }
}

static int asked;
static void* own_opendir(const char* path) {
  ++asked;
  return opendir(path);
}
static void own_closedir(void* dir) {
  closedir(dir);
}
static struct dirent* own_readdir(void* dir) {
  return readdir(dir);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* tree = lock_tree(argv[1]);
  setenv("HOME", argv[1], 1);
  static const char* const patterns[] = {
      "f*",           "f1?",           "f[2-4]",      "f3",
      "f99",          "f9[9]",         "*",           ".*",
      "*/",           "f55/*",         "nothing/*",   "{f1,f2}*",
      "f{1,2}",       "*.txt",         "../o*",       "../*/f3",
      "../link/f1*",  "../tree/*",     "../tree/*/*", "../tree/{a,d}/*",
      "../tree/to_*", "../tree/to_*/", "../loops/*",  "../loops/self/*",
      "\\f3",         "f\\*",          "[",           "f3/*",
      "./f2*",        ".//f2*"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i)
    look(join(argv[1], patterns[i]));
  look("~/f2*");
  look("~nobody_of_that_name/f2*");
  look("");
  look("/");
  chdir(argv[1]);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) look(patterns[i]);

  glob_t found = {0};
  found.gl_offs = 2;
  found.gl_opendir = own_opendir; /* not to be used, and to be there afterwards */
  const int offsets = sanitized ? 0 : GLOB_DOOFFS;
  show("offsets", "f1?", glob("f1?", offsets, NULL, &found), &found);
  show("appended", "n*", glob("n*", offsets | GLOB_APPEND, NULL, &found), &found);
  show("appended", "none*", glob("none*", offsets | GLOB_APPEND, NULL, &found), &found);
  if (!sanitized) printf("slots %p %p\n", found.gl_pathv[0], found.gl_pathv[1]);
  printf("own %d asked %d\n", found.gl_opendir == own_opendir && found.gl_readdir == NULL,
         asked);
  globfree(&found);

  found = (glob_t){.gl_opendir = own_opendir,
                   .gl_closedir = own_closedir,
                   .gl_readdir = own_readdir,
                   .gl_stat = stat,
                   .gl_lstat = lstat};
  show("own", "f2*", glob("f2*", GLOB_ALTDIRFUNC, NULL, &found), &found);
  printf("asked %d\n", asked > 0);
  globfree(&found);
  printf("unknown flags %d", glob("f*", 1 << 20, NULL, &found));
  printf(" %s\n", strerrorname_np(errno));

  chdir(tree);
  become_ordinary();
  look("*");
  look("*/*");
  look("closed/*");
  look("unread/*");
  look("unfound/*");
  look("unfound/x");
  look("un*/x");
  become_oneself();
  unlock_tree(tree);
  return 0;
}
