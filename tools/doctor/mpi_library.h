// The MPI of a program, by the names of its shared libraries, and whether Zazen has a plug-in
// for it.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/doctor/findings.h"

namespace zazen {

struct MpiLibrary {
  std::string name;         // "Open MPI 4"; "" if it is none
  std::string plugin;       // its file; "" if Zazen has none for it
  bool is_fortran = false;  // it calls through one of the Fortran libraries
};
MpiLibrary mpi_library(const std::set<std::string>& libraries);

// mpi4py's extension modules in the package directories of the Python at `interpreter`.
std::vector<std::string> mpi4py_modules(const std::string& interpreter);

// The whole examination. `shim` may be "".
MpiLibrary check_mpi(const std::string& program, const std::set<std::string>& libraries,
                     const std::string& shim, Findings& findings);

}  // namespace zazen
