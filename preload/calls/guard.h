// ReentryGuard: while an object lives, the hooks on its thread pass everything through. Used
// around our own code that calls ordinary functions: the plug-ins, the report. Initial-exec
// TLS, so a test costs one load and never allocates.
#pragma once

namespace zazen {

inline constinit thread_local int guard_depth __attribute__((tls_model("initial-exec"))) = 0;

class ReentryGuard {
 public:
  ReentryGuard() { ++guard_depth; }
  ~ReentryGuard() { --guard_depth; }
  ReentryGuard(const ReentryGuard&) = delete;
  ReentryGuard& operator=(const ReentryGuard&) = delete;
};

inline bool guard_is_raised() {
  return guard_depth != 0;
}

// This thread is within the real MPI_Init. That lists directories and writes files of its own,
// none of which belongs to a dataset. So the hooks ask no file server about them.
inline constinit thread_local bool mpi_starts __attribute__((tls_model("initial-exec"))) =
    false;

}  // namespace zazen
