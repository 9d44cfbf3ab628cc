#include "tools/doctor/mpi_library.h"

#include <algorithm>
#include <filesystem>

#include "tools/doctor/shared_libraries.h"
#include "tools/doctor/shim_check.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

struct KnownMpi {
  const char* library;
  const char* name;
  const char* plugin;
};
// Open MPI 5 kept the number 40. MPICH, Intel MPI and MVAPICH share one ABI, and 12; Debian's
// MPICH has a name of its own, which the plug-in is linked with.
constexpr KnownMpi kKnown[] = {
    {"libmpi.so.40", "Open MPI 4", kOpenMpiPlugin},
    {"libmpich.so.12", "MPICH", kMpichPlugin},
    {"libmpi.so.20", "Open MPI 2", ""},
    {"libmpi.so.12", "MPICH or Open MPI 1", ""},
    {"libmpich.so.10", "MPICH 1", ""},
    {"libmpi_cray.so.12", "Cray MPICH", ""},
    {"libmpi_gnu.so.12", "Cray MPICH", ""},
};

bool is_python(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  return name.starts_with("python") &&
         name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// Shells, launchers and the like do not read the frames themselves.
bool starts_others(const std::string& program) {
  static const std::set<std::string> names{
      "bash",   "csh",     "dash", "env",  "fish", "ksh",  "make",  "mpiexec",
      "mpirun", "orterun", "sh",   "srun", "tcsh", "time", "xargs", "zsh"};
  return names.contains(fs::path(program).stem().string());  // mpirun.mpich, too
}

void add_modules(const fs::path& packages, std::vector<std::string>& modules) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(packages / "mpi4py", error)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("MPI.") && name.ends_with(".so")) modules.push_back(entry.path());
  }
}

MpiLibrary of_python(const std::string& interpreter) {
  for (const std::string& module : mpi4py_modules(interpreter)) {
    Result<ElfFile> file = read_elf(module);
    if (!file) continue;
    MpiLibrary mpi = mpi_library(libraries_of(module, *file).names);
    if (!mpi.name.empty()) return mpi;
  }
  return {};
}

}  // namespace

MpiLibrary mpi_library(const std::set<std::string>& libraries) {
  MpiLibrary mpi;
  for (const std::string& library : libraries) {
    mpi.is_fortran |= library.starts_with("libmpi_mpifh") ||
                      library.starts_with("libmpi_usempi") ||
                      library.starts_with("libmpifort") || library.starts_with("libmpichfort");
  }
  for (const KnownMpi& known : kKnown) {
    if (!libraries.contains(known.library)) continue;
    mpi.name = known.name;
    mpi.plugin = known.plugin;
    return mpi;
  }
  for (const std::string& library : libraries) {
    if (library.starts_with("libmpi.so") || library.starts_with("libmpich")) {
      mpi.name = "an MPI with " + library;
    }
  }
  return mpi;
}

// PREFIX/bin/python3.11 looks in PREFIX/lib/python3.11; a virtual environment's python is a
// link, and its own PREFIX goes before the one that the link leads to.
std::vector<std::string> mpi4py_modules(const std::string& interpreter) {
  std::vector<std::string> modules;
  std::error_code error;
  for (const fs::path& python : {fs::path(interpreter), fs::canonical(interpreter, error)}) {
    fs::path prefix = python.parent_path().parent_path();
    std::string version = fs::canonical(interpreter, error).filename().string();
    for (const std::string& library : {version, std::string("python3")}) {
      for (const char* place : {"lib", "local/lib", "lib64"}) {
        for (const char* packages : {"site-packages", "dist-packages"}) {
          add_modules(prefix / place / library / packages, modules);
        }
      }
    }
  }
  return modules;
}

MpiLibrary check_mpi(const std::string& program, const std::set<std::string>& libraries,
                     const std::string& shim, Findings& findings) {
  bool python = is_python(program);
  MpiLibrary mpi = mpi_library(libraries);
  std::string through;
  if (mpi.name.empty() && python) {
    mpi = of_python(program);
    through = " through mpi4py, if the script imports it";
  }
  if (mpi.name.empty() && starts_others(program)) {
    findings.warn("MPI", program + ": none itself; what it starts is not examined",
                  "zazenctl doctor PROGRAM, for the program that reads the frames");
    return mpi;
  }
  if (mpi.name.empty()) {
    findings.ok("MPI", program + (python ? ": no mpi4py; " : ": none; ") +
                           "nothing is divided among ranks");
    return mpi;
  }
  std::string text = program + ": " + mpi.name + (mpi.is_fortran ? ", Fortran" : "") + through;
  if (mpi.plugin.empty()) {
    findings.warn("MPI", text + ", for which there is no plug-in",
                  "opens are cached, and every rank sees every frame; build the program with "
                  "Open MPI 4 or MPICH to have the frames divided");
  } else if (shim.empty() || find_plugin(shim, mpi.plugin).empty()) {
    findings.warn("MPI", text + ", but its plug-in is not beside the shim",
                  "opens are cached, and every rank sees every frame; install " + mpi.plugin);
  } else {
    findings.ok("MPI", text + ": the frames are divided among the ranks");
  }
  return mpi;
}

}  // namespace zazen
