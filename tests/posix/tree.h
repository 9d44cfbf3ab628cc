/* A tree beside the dataset with everything that a walk may meet: links to directories, to
   above and to nowhere, an empty directory, a pipe, directories that an ordinary user may
   not read or search. Made once, so that each run finds the same order of names. */
#pragma once
#include "check.h"

static inline void make_file(const char* path) {
  int fd = open(path, O_WRONLY | O_CREAT, 0644);
  write(fd, path, 5);
  close(fd);
}

/* Makes the tree if it is not there, and its forbidden directories forbidden. */
static inline const char* lock_tree(const char* dataset) {
  static char tree[4000];
  snprintf(tree, sizeof tree, "%s/../tree", dataset);
  if (mkdir(tree, 0755) == 0) {
    mkdir(join(dataset, "../loops"), 0755);
    symlink("self", join(dataset, "../loops/self"));
    const char* directories[] = {"a",     "a/b",    "a/b/c",   "d",
                                 "d/e",   "d/e/f",  "d/e/f/g", "d/e/f/g/h",
                                 "empty", "unread", "unfound", "closed"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; ++i) {
      mkdir(join(tree, directories[i]), 0755);
      if (strcmp(directories[i], "empty") != 0)
        make_file(join(join(tree, directories[i]), "x"));
      if (strcmp(directories[i], "empty") != 0)
        make_file(join(join(tree, directories[i]), "y1"));
    }
    symlink("..", join(tree, "a/above"));
    symlink("a/b", join(tree, "to_b"));
    symlink("empty", join(tree, "to_empty"));
    symlink("nowhere", join(tree, "to_nowhere"));
    symlink("a/x", join(tree, "to_x"));
    symlink("../sim1", join(tree, "to_dataset"));
    mkfifo(join(tree, "pipe"), 0644);
  }
  chmod(join(tree, "unread"), 0311);
  chmod(join(tree, "unfound"), 0644);
  chmod(join(tree, "closed"), 0000);
  return tree;
}

static inline void unlock_tree(const char* tree) {
  chmod(join(tree, "unread"), 0755);
  chmod(join(tree, "unfound"), 0755);
  chmod(join(tree, "closed"), 0755);
}

/* From now on modes count, also if root runs the test. */
static inline void become_ordinary(void) {
  if (geteuid() == 0 && seteuid(65534) != 0) exit(1);
}

static inline void become_oneself(void) {
  if (getuid() == 0 && seteuid(0) != 0) exit(1);
}

/* The number that the next descriptor would have: how many are open now. */
static inline int next_fd(void) {
  int fd = dup(0);
  close(fd);
  return fd;
}

static inline const char* working_directory(void) {
  static char path[4096];
  return getcwd(path, sizeof path) == NULL ? strerrorname_np(errno) : path;
}
