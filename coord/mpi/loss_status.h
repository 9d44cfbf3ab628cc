// The exit status of a job that left frames unread (D24).
//
// Rank 0 ends with this status, as the last rank. Open MPI's and MPICH's launchers kill the
// other ranks as soon as one ends with a status other than 0, and these may still be writing
// results. So in MPI_Finalize rank 0 tells all ranks whether frames were lost. If so, the ranks
// form a tree with rank 0 on top: each connects to another rank (coord/audit/end_watch.h). At
// its end each rank waits for the ranks below it.
//
// Every wait is bounded. A rank that ends with an error status of its own keeps it and does not
// wait.
#pragma once
#include <mpi.h>

namespace zazen {

inline constexpr int kLossStatus = 120;

// To be called in MPI_Finalize, on every rank; rank 0's value of is_lost counts. `job_seconds`
// is how long the job has run.
void share_loss(MPI_Comm comm, bool is_lost, double job_seconds);

// For a process that is about to end with this status: waits as described above and returns the
// final status. exit() calls it by itself; the shim calls it for _exit(). Makes system calls
// only.
int status_at_end(int status) noexcept;

}  // namespace zazen
