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

constexpr char kOpenMpi[] = "libmpi.so.40";
constexpr char kOpenMpiPlugin[] = "libzazen-openmpi.so";

enum class Stage { kBefore, kPrepared, kJoined, kOver };

constinit char own_directory[kMaxPath] = {};
constinit std::atomic<int> depth{0};
constinit Stage stage = Stage::kBefore;  // only the outermost call touches it
constinit std::atomic<bool> initialised{false};
constinit const Plugin* plugin = nullptr;
constinit PluginHost host{};

struct LibrarySearch {
  const char* prefix;
  char path[kMaxPath];
};

int match_library(struct dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<LibrarySearch*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash == nullptr ? info->dlpi_name : slash + 1;
  if (std::strncmp(file, search->prefix, std::strlen(search->prefix)) != 0) return 0;
  std::size_t length = std::strlen(info->dlpi_name);
  if (length >= sizeof search->path) return 0;
  std::memcpy(search->path, info->dlpi_name, length + 1);
  return 1;
}

bool find_library(const char* prefix, LibrarySearch* search) {
  search->prefix = prefix;
  return ::dl_iterate_phdr(match_library, search) != 0;
}

void* open_beside_us(const char* below) {
  char path[kMaxPath + 64];
  std::size_t length = std::strlen(own_directory), rest = std::strlen(below);
  if (length == 0 || length + rest + 1 > sizeof path) return nullptr;
  std::memcpy(path, own_directory, length);
  std::memcpy(path + length, below, rest + 1);
  if (raw::faccessat(AT_FDCWD, path, R_OK, 0) != 0) return nullptr;
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    log_line(LogLevel::kWarn, "%s", why == nullptr ? path : why);
  }
  return handle;
}

const Plugin* load_plugin() {
  LibrarySearch search;
  if (!find_library(kOpenMpi, &search)) {
    log_line(LogLevel::kWarn, "no MPI library that is supported; nothing is filtered");
    return nullptr;
  }
  void* handle = open_beside_us("/libzazen-openmpi.so");
  if (handle == nullptr) handle = open_beside_us("/../coord/libzazen-openmpi.so");
  if (handle == nullptr) {
    log_line(LogLevel::kWarn, "%s cannot be loaded; nothing is filtered", kOpenMpiPlugin);
    return nullptr;
  }
  auto entry = reinterpret_cast<PluginEntry>(::dlsym(handle, kPluginSymbol));
  const Plugin* found = entry == nullptr ? nullptr : entry();
  if (found == nullptr || found->version != kPluginVersion) {
    log_line(LogLevel::kWarn, "%s is of another version; nothing is filtered", kOpenMpiPlugin);
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

void* find_mpi_function(const char* name, const char* library) {
  if (void* function = ::dlsym(RTLD_NEXT, name)) return function;
  LibrarySearch search;
  if (!find_library(library, &search)) return nullptr;
  void* handle = ::dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY);
  return handle == nullptr ? nullptr : ::dlsym(handle, name);
}

bool mpi_was_initialised() {
  return initialised.load(std::memory_order_relaxed);
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
  plugin = load_plugin();
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
  note_ending(Ending::kFinalized);
  if (plugin == nullptr) return;
  ErrnoKeeper keep;
  Guard guard;
  plugin->before_finalize(&host);
}

}  // namespace zazen
