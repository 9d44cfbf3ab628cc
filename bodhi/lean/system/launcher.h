// LauncherPlace: the rank of this process and the number of processes, from the launcher's
// variables. In this order: Open MPI's mpirun, PMIx, PMI (hydra, srun --mpi=pmi2), a Slurm
// step. Children of a rank have the variables, too. Lean.
#pragma once

namespace zazen {

struct LauncherPlace {
  long rank = -1;  // -1: unknown
  long size = -1;
  long local_rank = -1;  // among the job's processes on this host

  // One process of a job prints messages: rank 0, or a process without a rank.
  bool speaks() const { return rank <= 0; }
  bool is_one_of_several() const { return size > 1; }
};

LauncherPlace launcher_place(const char* const* environment);

}  // namespace zazen
