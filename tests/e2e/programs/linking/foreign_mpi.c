/* An MPI library that Zazen does not know: just enough to start a program. */
int PMPI_Init(int* argc, char*** argv) {
  (void)argc, (void)argv;
  return 0;
}

int MPI_Init(int* argc, char*** argv) {
  return PMPI_Init(argc, argv);
}

int MPI_Finalize(void) {
  return 0;
}
