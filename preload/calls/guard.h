// Guard: while one lives, the hooks on this thread pass everything through. It is raised
// around what is ours but calls ordinary functions: the plug-ins, the report. Initial-exec
// TLS, so asking costs one load and never allocates.
#pragma once

namespace zazen {

extern constinit thread_local int guard_depth __attribute__((tls_model("initial-exec")));

class Guard {
 public:
  Guard() { ++guard_depth; }
  ~Guard() { --guard_depth; }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

inline bool guard_is_raised() {
  return guard_depth != 0;
}

// This thread is within the real MPI_Init. That lists directories and writes files of its own,
// none of which is a dataset's: so nobody asks a file server whether they are.
extern constinit thread_local bool mpi_starts __attribute__((tls_model("initial-exec")));

}  // namespace zazen
