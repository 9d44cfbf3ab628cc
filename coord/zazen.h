/* zazen.h: which frames should this process read? (zazen(3))
 *
 * For MPI programs that ask themselves instead of listing a directory under the shim; section
 * 4 of the paper. The library is that of the program's MPI: -lzazen-openmpi or -lzazen-mpich,
 * and -lbodhi for the handle.
 */
#ifndef ZAZEN_ZAZEN_H
#define ZAZEN_ZAZEN_H

#include <stdint.h>

#include "bodhi/bodhi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zazen_bitmap zazen_bitmap; /* the frames that this process should read */

/* Collective over MPI_COMM_WORLD, with the same numbers everywhere. The frames begin,
 * begin + stride, ... up to end, itself among them, are given out: each to exactly one process,
 * to one whose node holds it if there is any. Whether they exist is not looked at. A handle of
 * NULL stands for a node that holds nothing. NULL, on all processes, if it fails on one. */
zazen_bitmap* zazen(const bodhi* handle, const char* simdir, uint64_t begin, uint64_t end,
                    uint64_t stride);
/* The same over any intracommunicator, by its Fortran handle: MPI_Comm_c2f(comm) in C,
 * comm.py2f() with mpi4py. */
zazen_bitmap* zazen_on(const bodhi* handle, const char* simdir, uint64_t begin, uint64_t end,
                       uint64_t stride, int communicator);

/* How many frames are this process's own. */
uint64_t zazen_count(const zazen_bitmap* bitmap);
/* The next of them, ascending: 1 and its number, or 0 after the last. */
int zazen_next(zazen_bitmap* bitmap, uint64_t* seq);
void zazen_rewind(zazen_bitmap* bitmap); /* begins again with the first */
void zazen_free(zazen_bitmap* bitmap);   /* NULL is fine */

/* What went wrong in this thread's last zazen() that failed. */
const char* zazen_error(void);

#ifdef __cplusplus
}
#endif
#endif
