// LauncherPlace: which process of how many this is, as the launcher's variables tell it: those
// of Open MPI's mpirun, of PMIx, of PMI (hydra, srun --mpi=pmi2) and of a Slurm step, in this
// order. Children of a rank have them too. Lean.
#pragma once

namespace zazen {

struct LauncherPlace {
  long rank = -1;  // -1: nobody says
  long size = -1;
  long local_rank = -1;  // among the job's processes on this host

  // One process of a job speaks: rank 0, or one that is no rank.
  bool speaks() const { return rank <= 0; }
  bool is_one_of_several() const { return size > 1; }
};

LauncherPlace launcher_place(const char* const* environment);

}  // namespace zazen
