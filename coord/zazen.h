/* zazen.h: which frames should this process read? (zazen(3))
 *
 * For MPI programs that ask this directly, instead of listing a directory under the shim;
 * section 4 of the paper. Each MPI has its own library: -lzazen-openmpi or -lzazen-mpich. The
 * handle comes from -lbodhi.
 */
#ifndef ZAZEN_ZAZEN_H
#define ZAZEN_ZAZEN_H

#include <stdint.h>

#include "bodhi/bodhi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zazen_bitmap zazen_bitmap; /* the frames that this process should read */

/* Collective over MPI_COMM_WORLD, with the same numbers everywhere. Divides the frames begin,
 * begin + stride, ... up to and including end: each goes to exactly one process, on a node
 * that holds it if there is one. The function does not check whether the frames exist. A handle
 * of NULL means a node that holds nothing. NULL, on all processes, if it fails on one. */
zazen_bitmap* zazen(const bodhi* handle, const char* simdir, uint64_t begin, uint64_t end,
                    uint64_t stride);
/* The same over any intracommunicator, by its Fortran handle: MPI_Comm_c2f(comm) in C,
 * comm.py2f() with mpi4py. */
zazen_bitmap* zazen_on(const bodhi* handle, const char* simdir, uint64_t begin, uint64_t end,
                       uint64_t stride, int communicator);

/* The number of this process's own frames. */
uint64_t zazen_count(const zazen_bitmap* bitmap);
/* The next of them, ascending: returns 1 and its number, or 0 after the last. */
int zazen_next(zazen_bitmap* bitmap, uint64_t* seq);
void zazen_rewind(zazen_bitmap* bitmap); /* begins again with the first */
void zazen_free(zazen_bitmap* bitmap);   /* NULL is fine */

/* The reason why this thread's last failed zazen() failed. */
const char* zazen_error(void);

#ifdef __cplusplus
}
#endif
#endif
