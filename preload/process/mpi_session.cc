#include "preload/process/mpi_session.h"

#include <link.h>
#include <stdarg.h>
#include <stdio.h>

#include <cstring>

#include "coord/plugin.h"
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/loader_calls.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/process/current_run.h"
#include "preload/process/current_view.h"
#include "preload/process/division.h"
#include "preload/process/log.h"
#include "preload/process/node.h"
#include "preload/process/reading_watch.h"
#include "preload/process/settings.h"

namespace zazen {

constinit std::atomic<std::int64_t> job_began_ms{0};

namespace {

struct SupportedMpi {
  char library[16];  // the beginning of the file name
  char plugin[24];
};
constexpr MpiLibraries kMpiLibraries = {"libmpi.so.", "libmpich.so."};
constexpr SupportedMpi kSupported[] = {
    {"libmpi.so.40", "libzazen-openmpi.so"},
    {"libmpich.so.12", "libzazen-mpich.so"},
};

enum class Stage { kBefore, kPrepared, kJoined, kOver };

// "" unless the path of this library is relative to this directory.
ZAZEN_SELDOM_USED constinit char start_directory[kMaxPath] = {};
constinit std::atomic<int> depth{0};
constinit Stage stage = Stage::kBefore;  // only the outermost call touches it
constinit std::atomic<bool> initialised{false};
constinit std::atomic<bool> has_session{false};
constinit const Plugin* plugin = nullptr;
constinit PluginHost host{};
ZAZEN_SELDOM_USED constinit char obstacle[kMaxPath] = {};  // why there is no plug-in

struct LibrarySearch {
  const char* prefix;   // of the library's file name, or null:
  const void* address;  // in it
  char path[kMaxPath];
};

const char* file_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool begins_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool holds(const struct dl_phdr_info& info, const void* address) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    ElfW(Addr) begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD &&
        reinterpret_cast<ElfW(Addr)>(address) - begin < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

int match_library(struct dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<LibrarySearch*>(data);
  if (search->prefix != nullptr ? !begins_with(file_of(info->dlpi_name), search->prefix)
                                : !holds(*info, search->address)) {
    return 0;
  }
  std::size_t length = std::strlen(info->dlpi_name);
  if (length >= sizeof search->path) return 0;
  std::memcpy(search->path, info->dlpi_name, length + 1);
  return 1;
}

bool find_library(const char* prefix, LibrarySearch* search) {
  search->prefix = prefix;
  return ::dl_iterate_phdr(match_library, search) != 0;
}

bool find_owner(const void* address, LibrarySearch* search) {
  search->prefix = nullptr;
  search->address = address;
  return ::dl_iterate_phdr(match_library, search) != 0;
}

// A program's libraries may load a second MPI. The program calls the first one that has
// PMPI_Init or, if all are loaded with RTLD_LOCAL, any of them.
const SupportedMpi* find_mpi() {
  if (&::dlsym == nullptr) return nullptr;
  LibrarySearch search;
  void* init = ::dlsym(RTLD_NEXT, "PMPI_Init");
  if (init != nullptr && find_owner(init, &search)) {
    for (const SupportedMpi& mpi : kSupported)
      if (begins_with(file_of(search.path), mpi.library)) return &mpi;
    return nullptr;
  }
  for (const SupportedMpi& mpi : kSupported)
    if (find_library(mpi.library, &search)) return &mpi;
  return nullptr;
}

__attribute__((format(printf, 1, 2))) void set_obstacle(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ::vsnprintf(obstacle, sizeof obstacle, format, arguments);
  va_end(arguments);
}

const char* own_path() {
  const link_map* own = real::own_map();
  return own != nullptr ? own->l_name : "";
}

void* open_beside_us(const char* place, const char* file) {
  const char* own = own_path();
  const char* slash = std::strrchr(own, '/');
  bool is_relative = own[0] != '/';
  if (slash == nullptr || (is_relative && start_directory[0] == '\0')) return nullptr;
  char path[2 * kMaxPath];
  int length =
      ::snprintf(path, sizeof path, "%s%s%.*s%s%s", start_directory, is_relative ? "/" : "",
                 static_cast<int>(slash - own), own, place, file);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return nullptr;
  if (raw::faccessat(AT_FDCWD, path, R_OK, 0) != 0) return nullptr;
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    set_obstacle("%s", why == nullptr ? path : why);
  }
  return handle;
}

const Plugin* load_plugin() {
  const SupportedMpi* mpi = find_mpi();
  if (mpi == nullptr) {
    set_obstacle("there is no plug-in for this MPI library");
    return nullptr;
  }
  void* handle = open_beside_us("/", mpi->plugin);
  if (handle == nullptr) handle = open_beside_us("/../coord/", mpi->plugin);
  if (handle == nullptr) {
    if (obstacle[0] == '\0') set_obstacle("%s is not beside libzazen.so", mpi->plugin);
    return nullptr;
  }
  auto entry = reinterpret_cast<PluginEntry>(::dlsym(handle, kPluginSymbol));
  const Plugin* found = entry == nullptr ? nullptr : entry();
  if (found == nullptr || found->version != kPluginVersion) {
    set_obstacle("%s is of another version than libzazen.so", mpi->plugin);
    return nullptr;
  }
  return found;
}

void fill_host() {
  bool alive = false;
  const Node* node = current_node(&alive);
  host.version = kPluginVersion;
  host.table = alive ? node->table : nullptr;
  host.runtime = settings.runtime;
  host.ledger = settings.ledger;
  host.adopt_view = adopt_view;
  host.activate_view = activate_view;
  host.drop_view = drop_view;
  const Expectation expected = expected_division();
  host.expected = expected.filter;
  host.expected_paths = expected.paths;
  host.watch_reading = watch_reading;
  host.place = settings.place;
  host.first_stderr = &settings.first_stderr;
  host.run = current_run();
}

// MPI_COMM_WORLD. In Open MPI it is a pointer to an object; if the program has a copy of the
// object, the copy counts. In all MPIs with MPICH's ABI it is an int. An int in a pointer's
// register keeps its value.
void* comm_world() {
  constexpr std::uintptr_t kMpichCommWorld = 0x44000000;
  constexpr char kOpenMpiName[] = "ompi_mpi_comm_world";
  if (void* world = ::dlsym(RTLD_DEFAULT, kOpenMpiName)) return world;
  if (void* world = find_mpi_function(kOpenMpiName, kMpiLibraries)) return world;
  LibrarySearch search;
  const bool has_abi =
      find_library("libmpich.so.12", &search) || find_library("libmpi.so.12", &search);
  return has_abi ? reinterpret_cast<void*>(kMpichCommWorld) : nullptr;
}

template <class Type>
Type* mpi_function(const char* name) {
  return reinterpret_cast<Type*>(find_mpi_function(name, kMpiLibraries));
}

// By MPI itself, which is initialised; for an unknown MPI library, by the launcher.
Standing standing_in_mpi() {
  using Question = int(void*, int*);
  auto* ask_rank = mpi_function<Question>("PMPI_Comm_rank");
  auto* ask_size = mpi_function<Question>("PMPI_Comm_size");
  int rank = 0, size = 0;
  void* world = comm_world();
  if (world == nullptr || ask_rank == nullptr || ask_size == nullptr ||
      ask_rank(world, &rank) != 0 || ask_size(world, &size) != 0) {
    return {settings.place.rank, settings.place.size};
  }
  // Several processes that are each alone in MPI: another MPI's launcher started them.
  if (size == 1 && settings.place.is_one_of_several()) {
    return {settings.place.rank, settings.place.size};
  }
  return {rank, size};
}

void abort_mpi() {
  auto* abort = mpi_function<int(void*, int)>("PMPI_Abort");
  if (void* world = comm_world(); world != nullptr && abort != nullptr) abort(world, 1);
}

// A process that a rank started keeps the rank's view, whether it is an MPI program or not.
bool takes_part() {
  return settings.active && settings.inherited_view[0] == '\0';
}

}  // namespace

void remember_start_directory() {
  if (own_path()[0] == '/') return;
  if (raw_call(SYS_getcwd, start_directory, sizeof start_directory) <= 0) {
    start_directory[0] = '\0';
  }
}

void* find_mpi_function(const char* name, MpiLibraries libraries) {
  if (&::dlsym == nullptr) return nullptr;
  if (void* function = ::dlsym(RTLD_NEXT, name)) return function;
  LibrarySearch search;
  for (const char* library : {libraries.openmpi, libraries.mpich}) {
    if (!find_library(library, &search)) continue;
    void* handle = ::dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    if (void* function = ::dlsym(handle, name)) return function;
  }
  return nullptr;
}

bool mpi_was_initialised() {
  return initialised.load(std::memory_order_relaxed);
}

void note_mpi_session() {
  const bool is_first = !has_session.exchange(true);
  if (!is_first || mpi_was_initialised() || !takes_part()) return;
  ErrnoKeeper keep;
  ReentryGuard guard;
  // Without a launcher it is alone.
  const long size = settings.place.size < 0 ? 1 : settings.place.size;
  answer_for_undivided_job({settings.place.rank, size},
                           "the program calls MPI_Session_init before MPI_Init", [] {});
}

int status_at_end(int status) {
  return plugin == nullptr ? status : plugin->status_at_end(status);
}

MpiCall::MpiCall() : outermost_(depth.fetch_add(1) == 0 && takes_part()) {}
MpiCall::~MpiCall() {
  mpi_starts = false;
  depth.fetch_sub(1);
}

void MpiCall::before_init() {
  if (!outermost_ || stage != Stage::kBefore) return;
  ErrnoKeeper keep;
  ReentryGuard guard;
  mpi_starts = true;
  initialised.store(true, std::memory_order_relaxed);
  stage = Stage::kPrepared;
  // MPI has already synchronised the ranks: a word that this rank leaves now may reach only
  // some of them.
  if (!has_session.load(std::memory_order_relaxed)) plugin = load_plugin();
  if (plugin == nullptr) return;
  fill_host();
  plugin->before_init(&host);
}

void MpiCall::after_init(int mpi_error) {
  mpi_starts = false;
  if (!outermost_ || stage != Stage::kPrepared || mpi_error != 0) return;
  stage = Stage::kJoined;
  ErrnoKeeper keep;
  ReentryGuard guard;
  if (plugin != nullptr) {
    plugin->after_init(&host);
  } else if (!has_session.load(std::memory_order_relaxed)) {  // a session was already reported
    answer_for_undivided_job(standing_in_mpi(), obstacle, abort_mpi);
  }
  job_began_ms.store(monotonic_ms(), std::memory_order_relaxed);
}

void MpiCall::before_finalize() {
  if (!outermost_ || stage != Stage::kJoined) return;
  stage = Stage::kOver;
  note_ending(Ending::kFinalized);
  if (plugin == nullptr) return;
  ErrnoKeeper keep;
  ReentryGuard guard;
  plugin->before_finalize(&host);
}

}  // namespace zazen
