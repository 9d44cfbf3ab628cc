/* Directory streams by every call, on the dataset and on another directory. */
#include <dirent.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r is still called */

static int compare_lines(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static char* lines[1000];
static size_t count;

static void note(const char* name, uint64_t ino, int type) {
  char line[300];
  snprintf(line, sizeof line, "  %s %llu %d", name, (unsigned long long)ino, type);
  lines[count++] = strdup(line);
}

static void show(const char* what) {
  qsort(lines, count, sizeof lines[0], compare_lines);
  printf("%s: %zu\n", what, count);
  for (size_t i = 0; i < count; ++i) {
    puts(lines[i]);
    free(lines[i]);
  }
  count = 0;
}

static int only_frames(const struct dirent* entry) {
  return entry->d_name[0] == 'f';
}
static int only_frames_64(const struct dirent64* entry) {
  return entry->d_name[0] == 'f';
}

static void list(const char* path) {
  DIR* dir = opendir(path);
  if (dir == NULL) {
    printf("%s: %s\n", path, strerrorname_np(errno));
    return;
  }
  struct dirent* entry;
  errno = ENOTTY;
  while ((entry = readdir(dir)) != NULL) note(entry->d_name, entry->d_ino, entry->d_type);
  printf("errno at the end %s, fd %d\n", strerrorname_np(errno), dirfd(dir));
  show("readdir");

  struct dirent64* entry64;
  rewinddir(dir);
  while ((entry64 = readdir64(dir)) != NULL) {
    note(entry64->d_name, entry64->d_ino, entry64->d_type);
  }
  show("readdir64 after rewinddir");

  struct dirent own, *result;
  struct dirent64 own64, *result64;
  rewinddir(dir);
  while (readdir_r(dir, &own, &result) == 0 && result != NULL) {
    note(own.d_name, own.d_ino, own.d_type);
  }
  show("readdir_r");
  rewinddir(dir);
  while (readdir64_r(dir, &own64, &result64) == 0 && result64 != NULL) {
    note(own64.d_name, own64.d_ino, own64.d_type);
  }
  show("readdir64_r");

  rewinddir(dir);
  readdir(dir);
  entry = readdir(dir);
  long place = telldir(dir);
  printf("d_off is telldir %d\n", entry != NULL && entry->d_off == place);
  char third[256] = "";
  entry = readdir(dir);
  if (entry != NULL) strcpy(third, entry->d_name);
  while (readdir(dir) != NULL) continue;
  seekdir(dir, place);
  entry = readdir(dir);
  printf("seekdir goes back %d\n",
         entry == NULL ? third[0] == '\0' : !strcmp(third, entry->d_name));
  printf("closedir %d\n", closedir(dir));

  int fd = open(path, O_RDONLY | O_DIRECTORY);
  dir = fdopendir(fd);
  while ((entry = readdir(dir)) != NULL) note(entry->d_name, entry->d_ino, entry->d_type);
  show("fdopendir");
  struct stat st;
  printf("fstatat below %d\n", fstatat(dirfd(dir), "notes.txt", &st, 0));
  closedir(dir);

  struct dirent** names;
  int found = scandir(path, &names, only_frames, alphasort);
  printf("scandir %d\n", found);
  for (int i = 0; i < found; ++i) {
    printf("  %s %d\n", names[i]->d_name, names[i]->d_type);
    free(names[i]);
  }
  if (found >= 0) free(names);
  struct dirent64** names64;
  found = scandir64(path, &names64, only_frames_64, NULL);
  printf("scandir64 %d\n", found);
  for (int i = 0; i < found; ++i) free(names64[i]);
  if (found >= 0) free(names64);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  list(argv[1]);
  list(join(argv[1], "../other"));
  list(join(argv[1], "../link"));
  list(join(argv[1], "none"));
  list(join(argv[1], "f3"));
  printf("fdopendir of nothing %d", fdopendir(999) == NULL);
  printf(" %s\n", strerrorname_np(errno));
  struct dirent** names;
  printf("scandir of nothing %d", scandir("/none", &names, NULL, NULL));
  printf(" %s\n", strerrorname_np(errno));

  /* More streams at once than the shim has slots of its own. */
  enum { kMany = 150 };
  static DIR* many[kMany];
  int total = 0;
  for (int i = 0; i < kMany; ++i) many[i] = opendir(argv[1]);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kMany; ++i) total += readdir(many[i]) != NULL;
  }
  for (int i = 0; i < kMany; ++i) closedir(many[i]);
  printf("many streams %d\n", total);
  return 0;
}
