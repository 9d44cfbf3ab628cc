// The exit status of a job that left frames unread (D24).
//
// Rank 0 ends with it, and last: Open MPI's and MPICH's launchers kill the other ranks as soon
// as one ends with a status that is not 0, and these may still be writing results. So in
// MPI_Finalize rank 0 tells all ranks whether frames were lost. If so, each rank connects to
// another one (see coord/audit/end_watch.h), in a tree with rank 0 on top, and at its end each
// waits for those below it.
//
// Everything is bounded. A rank that ends with a status of its own keeps it, and does not wait.
#pragma once
#include <mpi.h>

namespace zazen {

inline constexpr int kLossStatus = 120;

// In MPI_Finalize, on every rank; rank 0's word counts. `job_seconds` is how long the job has
// run.
void share_loss(MPI_Comm comm, bool is_lost, double job_seconds);

// For a process that is about to end with this status: waits as above, and tells which status
// it ends with. exit() asks by itself; _exit() is for the shim. Makes system calls only.
int status_at_end(int status) noexcept;

}  // namespace zazen
