// Presence: does every rank of MPI_COMM_WORLD have the plug-in? (D13)
//
// A rank without it would never enter our collectives, and the job would hang. So each rank
// leaves a word in the launcher's key-value store before the real MPI_Init, whose fence
// carries it to all, and looks for everybody's word after it. No communication is involved.
#pragma once
#include <pmix.h>

namespace zazen {

class Presence {
 public:
  // Before MPI_Init. Without a launcher that speaks PMIx it does nothing.
  void announce();
  bool has_launcher() const { return announced_; }
  // After MPI_Init, once. True if all `ranks` ranks announced themselves.
  bool everybody_is_here(int ranks);

 private:
  bool announced_ = false;
  pmix_proc_t me_{};
};

}  // namespace zazen
