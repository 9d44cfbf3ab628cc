#include "tools/doctor/mpi_library.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

std::string which(const std::set<std::string>& libraries) {
  MpiLibrary mpi = mpi_library(libraries);
  return mpi.name + (mpi.plugin.empty() ? "" : ", plug-in") +
         (mpi.is_fortran ? ", Fortran" : "");
}

TEST(MpiLibrary, ByTheNamesOfTheLibraries) {
  EXPECT_EQ(which({}), "");
  EXPECT_EQ(which({"libc.so.6", "libmpiexample.so"}), "");
  EXPECT_EQ(which({"libc.so.6", "libmpi.so.40"}), "Open MPI 4, plug-in");
  EXPECT_EQ(which({"libmpi_usempif08.so.40", "libmpi_mpifh.so.40", "libmpi.so.40"}),
            "Open MPI 4, plug-in, Fortran");
  EXPECT_EQ(which({"libmpi.so.12", "libmpifort.so.12"}), "MPICH or Open MPI 1, Fortran");
  EXPECT_EQ(which({"libmpich.so.12"}), "MPICH, plug-in");
  EXPECT_EQ(which({"libmpich.so.12", "libmpichfort.so.12"}), "MPICH, plug-in, Fortran");
  EXPECT_EQ(which({"libmpi.so.99"}), "an MPI with libmpi.so.99");
}

}  // namespace
}  // namespace zazen
