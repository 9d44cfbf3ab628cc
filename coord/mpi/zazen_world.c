/* The paper's zazen(), in C: in C++ the name is that of our namespace. */
#include <mpi.h>

#include "coord/zazen.h"

__attribute__((visibility("default"))) zazen_bitmap* zazen(const bodhi* handle,
                                                           const char* simdir, uint64_t begin,
                                                           uint64_t end, uint64_t stride) {
  return zazen_on(handle, simdir, begin, end, stride, PMPI_Comm_c2f(MPI_COMM_WORLD));
}
