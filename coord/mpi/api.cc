// zazen() and related functions. Compiled once for each MPI, into its plug-in, which programs
// can also link. No exception leaves them.
#include "coord/mpi/api.h"

#include <mpi.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "bodhi/library/bodhi_handle.h"
#include "coord/job/assignment.h"
#include "coord/mpi/mpi_communicator.h"
#define zazen zazen_in_c  // the function, not the namespace: zazen_world.c has it
#include "coord/zazen.h"
#undef zazen

#define ZAZEN_API extern "C" __attribute__((visibility("default")))

struct zazen_bitmap {
  zazen::Assignment assignment;
};

namespace zazen {
namespace {

thread_local std::string error_text;
std::atomic<bool> asked{false};
std::atomic<WatchReading*> watch{nullptr};

zazen_bitmap* refuse(std::string text) {
  error_text = std::move(text);
  return nullptr;
}

struct Unmap {
  void operator()(const Table* table) const { unmap_table(table); }
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

zazen_bitmap* assign(const bodhi* handle, const char* simdir, uint64_t begin, uint64_t end,
                     uint64_t stride, MPI_Comm comm) {
  asked.store(true, std::memory_order_relaxed);
  if (auto* watch_reading = watch.load()) watch_reading(false, nullptr, nullptr);
  AssignmentRequest request{nullptr, {}, {}, begin, end, stride};
  std::unique_ptr<const Table, Unmap> table;
  if (handle != nullptr) {
    request.runtime = handle->runtime;
    table.reset(map_table(handle->runtime.c_str()));
    request.table = table.get();
  }
  if (simdir != nullptr) request.dataset = without_slashes(simdir);
  const Settings settings = settings_from_environment();
  MPI_Comm own = MPI_COMM_NULL;
  if (PMPI_Comm_dup(comm, &own) != MPI_SUCCESS)
    return refuse("the communicator cannot be duplicated");
  std::optional<MessageMemory> memory = MessageMemory::of_all(own);
  if (!memory) {
    PMPI_Comm_free(&own);
    return refuse("out of memory");
  }
  MpiCommunicator world(own, true, std::move(*memory));
  Result<Assignment> assignment = Assignment::agree(world, request, settings);
  if (!assignment) return refuse(assignment.error().context);
  return new zazen_bitmap{std::move(*assignment)};
}

bool mpi_runs() {
  int initialized = 0, finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

}  // namespace

void set_watch(WatchReading* watch_reading) {
  watch.store(watch_reading);
}

bool program_asked() {
  return asked.load(std::memory_order_relaxed);
}

}  // namespace zazen

ZAZEN_API zazen_bitmap* zazen_on(const bodhi* handle, const char* simdir, uint64_t begin,
                                 uint64_t end, uint64_t stride, int communicator) try {
  if (!zazen::mpi_runs()) return zazen::refuse("MPI is not initialised, or over");
  return zazen::assign(handle, simdir, begin, end, stride, PMPI_Comm_f2c(communicator));
} catch (const std::exception& error) {
  return zazen::refuse(error.what());
}

ZAZEN_API uint64_t zazen_count(const zazen_bitmap* bitmap) {
  return bitmap->assignment.count();
}

ZAZEN_API int zazen_next(zazen_bitmap* bitmap, uint64_t* seq) try {
  zazen::FrameSeq next = 0;
  if (!bitmap->assignment.next(&next)) return 0;
  *seq = next;
  return 1;
} catch (const std::exception& error) {
  zazen::refuse(error.what());
  return 0;
}

ZAZEN_API void zazen_rewind(zazen_bitmap* bitmap) {
  bitmap->assignment.rewind();
}

ZAZEN_API void zazen_free(zazen_bitmap* bitmap) {
  delete bitmap;
}

ZAZEN_API const char* zazen_error(void) {
  return zazen::error_text.c_str();
}
