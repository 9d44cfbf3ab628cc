// The examination of a program: would LD_PRELOAD bring the shim into it, and would the shim see
// its files? It runs no part of the program. A script stands for its interpreter.
#pragma once
#include <string>

#include "tools/doctor/findings.h"

namespace zazen {

struct ProgramVerdict {
  std::string path;      // of what the kernel finally runs; "" if nothing was found
  bool reached = false;  // the shim is in it and sees its files
  std::string mpi;       // which MPI; "" if none
};

ProgramVerdict check_program(const std::string& name, Findings& findings);

}  // namespace zazen
