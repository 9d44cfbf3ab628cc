/* A stream that is closed by libc's own closedir, as some library does it, and another
   directory's that is then opened at its address.

     reused_streams DIRECTORY OTHER

   shows the names in OTHER. */
#include <dirent.h>
#include <dlfcn.h>

#include "check.h"

static int compare(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static void show(const char* how, DIR* stream) {
  char* names[100];
  size_t count = 0;
  for (struct dirent* entry; count < 100 && (entry = readdir(stream)) != NULL;) {
    if (entry->d_name[0] != '.') names[count++] = strdup(entry->d_name);
  }
  qsort(names, count, sizeof *names, compare);
  printf("%s:", how);
  for (size_t i = 0; i < count; ++i) printf(" %s", names[i]);
  puts("");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int (*libc_closedir)(DIR*) =
      (int (*)(DIR*))dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "closedir");
  int fd = open(argv[2], O_RDONLY | O_DIRECTORY);

  DIR* first = opendir(argv[1]);
  libc_closedir(first);
  DIR* second = opendir(argv[2]);
  if (second != first) return 3;
  show("opendir", second);
  closedir(second);

  first = opendir(argv[1]);
  libc_closedir(first);
  second = fdopendir(fd);
  if (second != first) return 3;
  show("fdopendir", second);
  closedir(second);
  return 0;
}
