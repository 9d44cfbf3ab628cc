// The MPI side of a process: which plug-in serves it, and when it is called (D12, D13).
//
// The shim links no libmpi. When a hooked MPI_Init runs, the MPI library is in the process;
// the plug-in for its ABI is loaded then, and called before and after the real MPI_Init and
// before the real MPI_Finalize, with the hooks passing through on that thread. Calls may
// nest (a Fortran binding or a profiler calls the C symbol): only the outermost counts.
#pragma once
#include <atomic>
#include <cstdint>

namespace zazen {

// If the path of this library is a relative one: what it is relative to, before that changes.
void remember_start_directory();

struct MpiLibraries {  // how the file names begin of those that have a function
  const char* openmpi;
  const char* mpich;
};

// The real function of this name: the next one in the global scope, or, if its library was
// loaded with RTLD_LOCAL as mpi4py does, that of a loaded library with one of these names.
// Null if there is none.
void* find_mpi_function(const char* name, MpiLibraries libraries);

bool mpi_was_initialised();

// When MPI_Init returned (monotonic_ms()); 0: it has not.
extern std::atomic<std::int64_t> job_began_ms;

// MPI_Session_init was called; this process is not filtered, nor is a job that it is part of. If
// MPI_Init was not, that is told now: it may never be. Where the process must end it does so after
// the session began: hydra ends the others only then.
void note_mpi_session();

// For a process that ends by _exit with this status: the status that it ends with.
int status_at_end(int status);

class MpiCall {  // around one real MPI_Init or MPI_Finalize
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
