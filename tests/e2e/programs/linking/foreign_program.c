/* Lists a directory under an MPI that Zazen does not know; the launcher says which rank it is.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%s", argv[2], rank ? rank : "0");
  FILE* out = fopen(path, "w");
  DIR* directory = opendir(argv[1]);
  if (!out || !directory) return 1;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') fprintf(out, "list %s\n", entry->d_name);
  closedir(directory);
  fclose(out);
  return MPI_Finalize();
}
