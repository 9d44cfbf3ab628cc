// MPI_Init, MPI_Init_thread, MPI_Finalize, as C and Fortran programs name them. Fortran
// bindings bypass the C symbols, so they have hooks of their own. mpi_init_ and others are for
// mpif.h and `use mpi`, mpi_init_f08_ and others for `use mpi_f08`. C++ programs call the C
// symbol. MPI_Session_init only sets a flag; MPICH's Fortran forms of it call the C symbol.
//
// Each hook is a thin wrapper of the real call. If there is no real one, it returns an MPI
// error, as a library that cannot start.
#include "preload/calls/hook.h"
#include "preload/process/mpi_session.h"

namespace {

using zazen::MpiLibraries;

constexpr int kMpiErrOther = 16;  // Open MPI's MPI_ERR_OTHER
constexpr MpiLibraries kC = {"libmpi.so.", "libmpich.so."};
constexpr MpiLibraries kFortran = {"libmpi_mpifh.so.", "libmpichfort.so."};
constexpr MpiLibraries kFortran08 = {"libmpi_usempif08.so.", "libmpichfort.so."};

template <class Type>
Type* real(const char* name, MpiLibraries libraries) {
  return reinterpret_cast<Type*>(zazen::find_mpi_function(name, libraries));
}

// Call(...) makes the real call and returns its error code.
template <class Call>
int init(Call call) {
  zazen::MpiCall frame;
  frame.before_init();
  int error = call();
  frame.after_init(error);
  return error;
}

template <class Call>
int finalize(Call call) {
  zazen::MpiCall frame;
  frame.before_finalize();
  return call();
}

// The error argument of `use mpi_f08` is optional: null if it is absent.
void answer(int* ierror, int error) {
  if (ierror != nullptr) *ierror = error;
}

// Calls the real function with these arguments and an error argument of our own, within
// around(call), which returns the error code of call().
template <class Around, class... Arguments>
void fortran_call(Around around, const char* name, MpiLibraries libraries, int* ierror,
                  Arguments... arguments) {
  auto* function = real<void(Arguments..., int*)>(name, libraries);
  answer(ierror, function == nullptr ? kMpiErrOther : around([&] {
           int error = 0;
           function(arguments..., &error);
           return error;
         }));
}
constexpr auto kInit = [](auto call) { return init(call); };
constexpr auto kFinalize = [](auto call) { return finalize(call); };

}  // namespace

ZAZEN_HOOK int MPI_Init(int* argc, char*** argv) {
  auto* function = real<int(int*, char***)>("MPI_Init", kC);
  if (function == nullptr) return kMpiErrOther;
  return init([&] { return function(argc, argv); });
}

ZAZEN_HOOK int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  auto* function = real<int(int*, char***, int, int*)>("MPI_Init_thread", kC);
  if (function == nullptr) return kMpiErrOther;
  return init([&] { return function(argc, argv, required, provided); });
}

ZAZEN_HOOK int MPI_Finalize() {
  auto* function = real<int()>("MPI_Finalize", kC);
  if (function == nullptr) return kMpiErrOther;
  return finalize([&] { return function(); });
}

// The info, error handler and session are pointers or ints, depending on the MPI; all are
// passed on unchanged. An int in a pointer's register keeps its value.
ZAZEN_HOOK int MPI_Session_init(void* info, void* errhandler, void* session) {
  auto* function = real<int(void*, void*, void*)>("MPI_Session_init", kC);
  if (function == nullptr) return kMpiErrOther;
  int error = function(info, errhandler, session);
  zazen::note_mpi_session();
  return error;
}

#define FORTRAN_INIT(name, library)              \
  ZAZEN_HOOK void name(int* ierror) {            \
    fortran_call(kInit, #name, library, ierror); \
  }
#define FORTRAN_INIT_THREAD(name, library)                           \
  ZAZEN_HOOK void name(int* required, int* provided, int* ierror) {  \
    fortran_call(kInit, #name, library, ierror, required, provided); \
  }
#define FORTRAN_FINALIZE(name, library)              \
  ZAZEN_HOOK void name(int* ierror) {                \
    fortran_call(kFinalize, #name, library, ierror); \
  }

FORTRAN_INIT(mpi_init, kFortran)
FORTRAN_INIT(mpi_init_, kFortran)
FORTRAN_INIT(mpi_init__, kFortran)
FORTRAN_INIT(MPI_INIT, kFortran)
FORTRAN_INIT(MPI_Init_f08, kFortran)
FORTRAN_INIT(mpi_init_f08_, kFortran08)

FORTRAN_INIT_THREAD(mpi_init_thread, kFortran)
FORTRAN_INIT_THREAD(mpi_init_thread_, kFortran)
FORTRAN_INIT_THREAD(mpi_init_thread__, kFortran)
FORTRAN_INIT_THREAD(MPI_INIT_THREAD, kFortran)
FORTRAN_INIT_THREAD(MPI_Init_thread_f08, kFortran)
FORTRAN_INIT_THREAD(mpi_init_thread_f08_, kFortran08)

FORTRAN_FINALIZE(mpi_finalize, kFortran)
FORTRAN_FINALIZE(mpi_finalize_, kFortran)
FORTRAN_FINALIZE(mpi_finalize__, kFortran)
FORTRAN_FINALIZE(MPI_FINALIZE, kFortran)
FORTRAN_FINALIZE(MPI_Finalize_f08, kFortran)
FORTRAN_FINALIZE(mpi_finalize_f08_, kFortran08)
