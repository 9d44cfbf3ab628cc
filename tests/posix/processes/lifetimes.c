/* Frames are opened when libraries come and go, and after main has returned: in constructors
   and destructors of a library that is loaded and unloaded, in exit handlers, in a destructor
   of the program itself, which runs after all else. */
#include <dlfcn.h>
#include <libgen.h>

#include "check.h"

static char path[4096];

static void look(const char* when) {
  struct stat st = {0};
  int result = stat(path, &st);
  printf("%s: stat %d size %ld\n", when, result, (long)st.st_size);
  show_fd(when, open(path, O_RDONLY));
  fflush(stdout);
}

static void at_exit(void) {
  look("atexit");
}
static void on_exit_too(int status, void* unused) {
  (void)unused;
  printf("status %d\n", status);
  look("on_exit");
}

__attribute__((destructor(101))) static void last(void) {
  if (path[0] != '\0') look("last destructor");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  snprintf(path, sizeof path, "%s/f5", argv[1]);
  atexit(at_exit);
  on_exit(on_exit_too, NULL);
  setenv("OPENER_DIRECTORY", argv[1], 1);
  static char self[4096];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  const char* folder = dirname(self);
  const char* libraries[] = {"libopener.so", "../../preload/libzazen.so", "libopener.so",
                             "../../preload/libzazen.so"};
  for (int i = 0; i < 4; ++i) {
    void* library =
        dlopen(join(folder, libraries[i]), i < 2 ? RTLD_NOW : RTLD_NOW | RTLD_GLOBAL);
    printf("dlopen %d\n", library != NULL);
    look("loaded");
    printf("dlclose %d\n", library != NULL ? dlclose(library) : -1);
    look("unloaded");
  }
  void* kept = dlopen(join(folder, "libopener.so"), RTLD_LAZY); /* unloaded by exit */
  printf("kept %d\n", kept != NULL);
  return 0;
}
