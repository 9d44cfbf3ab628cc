#include "preload/mpi_session.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "coord/plugin.h"
#include "preload/current_view.h"
#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/log.h"
#include "preload/node.h"
#include "preload/raw.h"
#include "preload/settings.h"

namespace zazen {
namespace {

struct SupportedMpi {
  char library[16];  // the file name begins so
  char plugin[24];
};
constexpr SupportedMpi kSupported[] = {
    {"libmpi.so.40", "libzazen-openmpi.so"},
    {"libmpich.so.12", "libzazen-mpich.so"},
};

enum class Stage { kBefore, kPrepared, kJoined, kOver };

constinit char own_directory[kMaxPath] = {};
constinit std::atomic<int> depth{0};
constinit Stage stage = Stage::kBefore;  // only the outermost call touches it
constinit std::atomic<bool> initialised{false};
constinit std::atomic<bool> has_session{false};
constinit const Plugin* plugin = nullptr;
constinit PluginHost host{};

struct LibrarySearch {
  const char* prefix;
  char path[kMaxPath];
};

const char* file_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool begins_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

int match_library(struct dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<LibrarySearch*>(data);
  if (!begins_with(file_of(info->dlpi_name), search->prefix)) return 0;
  std::size_t length = std::strlen(info->dlpi_name);
  if (length >= sizeof search->path) return 0;
  std::memcpy(search->path, info->dlpi_name, length + 1);
  return 1;
}

bool find_library(const char* prefix, LibrarySearch* search) {
  search->prefix = prefix;
  return ::dl_iterate_phdr(match_library, search) != 0;
}

// Libraries that a program was linked with may bring in a second MPI. The one that it calls
// is the first that has PMPI_Init, or, if all are loaded with RTLD_LOCAL, any that is there.
const SupportedMpi* find_mpi() {
  void* init = ::dlsym(RTLD_NEXT, "PMPI_Init");
  struct dl_find_object owner;
  if (init != nullptr && ::_dl_find_object(init, &owner) == 0) {
    for (const SupportedMpi& mpi : kSupported)
      if (begins_with(file_of(owner.dlfo_link_map->l_name), mpi.library)) return &mpi;
    return nullptr;
  }
  LibrarySearch search;
  for (const SupportedMpi& mpi : kSupported)
    if (find_library(mpi.library, &search)) return &mpi;
  return nullptr;
}

void* open_beside_us(const char* place, const char* file) {
  char path[kMaxPath + 64];
  std::size_t length = 0;
  for (const char* part : {static_cast<const char*>(own_directory), place, file}) {
    std::size_t size = std::strlen(part);
    if (size == 0 || length + size >= sizeof path) return nullptr;
    std::memcpy(path + length, part, size);
    length += size;
  }
  path[length] = '\0';
  if (raw::faccessat(AT_FDCWD, path, R_OK, 0) != 0) return nullptr;
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    log_line(LogLevel::kWarn, "%s", why == nullptr ? path : why);
  }
  return handle;
}

const Plugin* load_plugin() {
  const SupportedMpi* mpi = find_mpi();
  if (mpi == nullptr) {
    log_line(LogLevel::kWarn, "no MPI library that is supported; nothing is filtered");
    return nullptr;
  }
  void* handle = open_beside_us("/", mpi->plugin);
  if (handle == nullptr) handle = open_beside_us("/../coord/", mpi->plugin);
  if (handle == nullptr) {
    log_line(LogLevel::kWarn, "%s cannot be loaded; nothing is filtered", mpi->plugin);
    return nullptr;
  }
  auto entry = reinterpret_cast<PluginEntry>(::dlsym(handle, kPluginSymbol));
  const Plugin* found = entry == nullptr ? nullptr : entry();
  if (found == nullptr || found->version != kPluginVersion) {
    log_line(LogLevel::kWarn, "%s is of another version; nothing is filtered", mpi->plugin);
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
}

// A process that a rank started keeps the rank's view, MPI program or not.
bool takes_part() {
  return settings.active && settings.configured && settings.inherited_view[0] == '\0';
}

}  // namespace

void find_own_directory() {
  struct dl_find_object own;  // dladdr would also search the symbols
  if (::_dl_find_object(reinterpret_cast<void*>(&find_own_directory), &own) != 0) return;
  const char* path = own.dlfo_link_map->l_name;
  const char* slash = std::strrchr(path, '/');
  if (slash == nullptr) return;
  std::size_t length = static_cast<std::size_t>(slash - path), prefix = 0;
  if (path[0] != '/') {
    if (raw_call(SYS_getcwd, own_directory, sizeof own_directory) <= 0) return;
    prefix = std::strlen(own_directory);
    if (prefix + 1 < sizeof own_directory) own_directory[prefix++] = '/';
  }
  if (prefix + length >= sizeof own_directory) length = prefix = 0;
  std::memcpy(own_directory + prefix, path, length);
  own_directory[prefix + length] = '\0';
}

void* find_mpi_function(const char* name, MpiLibraries libraries) {
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
  has_session.store(true, std::memory_order_relaxed);
}

MpiCall::MpiCall() : outermost_(depth.fetch_add(1) == 0 && takes_part()) {}
MpiCall::~MpiCall() {
  depth.fetch_sub(1);
}

void MpiCall::before_init() {
  if (!outermost_ || stage != Stage::kBefore) return;
  ErrnoKeeper keep;
  Guard guard;
  initialised.store(true, std::memory_order_relaxed);
  stage = Stage::kPrepared;
  // MPI has met already: a word that this rank leaves now may reach some ranks and not others.
  if (!has_session.load(std::memory_order_relaxed)) plugin = load_plugin();
  if (plugin == nullptr) return;
  fill_host();
  plugin->before_init(&host);
}

void MpiCall::after_init(int mpi_error) {
  if (!outermost_ || stage != Stage::kPrepared || mpi_error != 0) return;
  stage = Stage::kJoined;
  if (plugin == nullptr) return;
  ErrnoKeeper keep;
  Guard guard;
  plugin->after_init(&host);
}

void MpiCall::before_finalize() {
  if (!outermost_ || stage != Stage::kJoined) return;
  stage = Stage::kOver;
  if (plugin == nullptr) return;
  ErrnoKeeper keep;
  Guard guard;
  plugin->before_finalize(&host);
}

}  // namespace zazen
