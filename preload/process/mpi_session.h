// The MPI side of a process: chooses the plug-in and calls it (D12, D13).
//
// The shim links no libmpi. When a hooked MPI_Init runs, the MPI library is in the process, and
// the shim loads the plug-in for its ABI. It calls the plug-in before and after the real
// MPI_Init and before the real MPI_Finalize; meanwhile the hooks pass everything through on
// that thread. Calls may nest (a Fortran binding or a profiler calls the C symbol): only the
// outermost counts.
#pragma once
#include <atomic>
#include <cstdint>

namespace zazen {

// If the path of this library is relative: remembers the directory that it is relative to.
void remember_start_directory();

struct MpiLibraries {  // the beginnings of the file names of the libraries that have a function
  const char* openmpi;
  const char* mpich;
};

// The real function of this name: the next one in the global scope. If its library was loaded
// with RTLD_LOCAL, as mpi4py does, the one of a loaded library with one of these names. Null if
// there is none.
void* find_mpi_function(const char* name, MpiLibraries libraries);

bool mpi_was_initialised();

// When MPI_Init returned (monotonic_ms()); 0: it has not.
extern std::atomic<std::int64_t> job_began_ms;

// To be called for MPI_Session_init: this process, and a job that contains it, is not filtered.
// If MPI_Init was not called, the shim reports that at once, since it may never be called. If
// the process must end, it ends after the session has begun: only then does hydra end the other
// ranks.
void note_mpi_session();

// For a process that ends by _exit with this status: returns its final status.
int status_at_end(int status);

class MpiCall {  // surrounds one real MPI_Init or MPI_Finalize
 public:
  MpiCall();
  ~MpiCall();
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;

  void before_init();
  void after_init(int mpi_error);
  void before_finalize();

 private:
  bool outermost_;
};

}  // namespace zazen
