#include "preload/trace/call_site.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "preload/calls/raw.h"
#include "preload/trace/tracing.h"

namespace zazen::trace {
namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr int kTimeoutSeconds = 1;

constinit std::uintptr_t program_start = 0, program_end = 0;
constinit char program_path[kMaxPath] = "";
constinit const CallSites* callsites = nullptr;
constinit pthread_mutex_t walks = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<bool> walks_ended{false};

bool is_in_program(std::uintptr_t address) {
  return address > program_start && address <= program_end;
}

const char* last_component(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The first object is the program.
int note_program(struct dl_phdr_info* object, std::size_t, void*) {
  program_start = UINTPTR_MAX;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (start < program_start) program_start = start;
    if (start + segment.p_memsz > program_end) program_end = start + segment.p_memsz;
  }
  return 1;
}

const CallSites* load_callsites() {
  Dl_info ours;
  char path[kMaxPath];
  if (::dladdr(reinterpret_cast<void*>(&find_program), &ours) == 0) return nullptr;
  std::size_t directory =
      static_cast<std::size_t>(last_component(ours.dli_fname) - ours.dli_fname);
  if (directory + sizeof kCallSitesLibrary > sizeof path) return nullptr;
  std::memcpy(path, ours.dli_fname, directory);
  std::memcpy(path + directory, kCallSitesLibrary, sizeof kCallSitesLibrary);
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto entry = reinterpret_cast<CallSitesEntry>(::dlsym(library, kCallSitesSymbol));
  const CallSites* found = entry == nullptr ? nullptr : entry();
  return found != nullptr && found->version == kCallSitesVersion ? found : nullptr;
}

// Libraries that every program has, and code without a module.
bool is_everybodys(std::uintptr_t address) {
  ModuleOffset place;
  if (!module_of(address, &place)) return true;
  for (const char* start : {"libc.so", "ld-linux", "libstdc++", "libzazen"}) {
    if (std::strncmp(place.module, start, std::strlen(start)) == 0) return true;
  }
  return false;
}

struct Search {
  std::uintptr_t in_program = 0;
  std::uintptr_t in_library = 0;
};

bool look_for_program(std::uintptr_t address, bool, void* context) {
  auto* search = static_cast<Search*>(context);
  if (is_in_program(address)) {
    search->in_program = address;
    return false;
  }
  if (search->in_library == 0 && !is_everybodys(address)) search->in_library = address;
  return true;
}

bool look_for_signal(std::uintptr_t, bool signal_frame, void* context) {
  *static_cast<bool*>(context) |= signal_frame;
  return !signal_frame;
}

// libunwind takes the loader's lock. A thread that holds that lock, in a callback of
// dl_iterate_phdr, and waits for ours must not wait for ever.
bool lock_walks() {
  if (::pthread_mutex_trylock(&walks) == 0) return true;
  struct timespec until;
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += kTimeoutSeconds;
  return ::pthread_mutex_clocklock(&walks, CLOCK_MONOTONIC, &until) == 0;
}

// One walk at a time; a cancelled thread never leaves it unfinished. False if it had to be
// skipped.
bool walk(Visitor visit, void* context) {
  int cancelling = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  bool locked = false;
  {
    ModeScope scope(Mode::kWalking);
    locked = lock_walks();
    if (locked) {
      callsites->walk(visit, context);
      ::pthread_mutex_unlock(&walks);
    }
  }
  ::pthread_setcancelstate(cancelling, nullptr);
  return locked;
}

}  // namespace

void find_program() {
  ::dl_iterate_phdr(note_program, nullptr);
  ssize_t length =
      raw::readlinkat(AT_FDCWD, "/proc/self/exe", program_path, sizeof program_path - 1);
  program_path[length < 0 ? 0 : length] = '\0';
  ModeScope scope(Mode::kWalking);  // libunwind starts (the hook of pipe2)
  callsites = load_callsites();
}

std::uintptr_t call_site(const void* caller) {
  auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (is_in_program(address) || callsites == nullptr || mode != Mode::kTracing || walks_ended) {
    return address;
  }
  Search search;
  walk(look_for_program, &search);
  if (search.in_program != 0) return search.in_program;
  return search.in_library != 0 ? search.in_library : address;
}

bool is_in_signal_handler() {
  if (mode != Mode::kTracing || walks_ended) return true;  // within our own code, or unknown
  bool found = false;
  return callsites != nullptr && (!walk(look_for_signal, &found) || found);
}

bool module_of(std::uintptr_t address, ModuleOffset* out) {
  struct dl_find_object found;
  if (::_dl_find_object(reinterpret_cast<void*>(address - 1), &found) != 0) return false;
  const char* name = found.dlfo_link_map->l_name;
  out->module = last_component(*name == '\0' ? program_path : name);
  out->offset = address - found.dlfo_link_map->l_addr;
  return true;
}

const CallSites* loaded_callsites() {
  return callsites;
}

void hold_walks() {
  if (mode != Mode::kWalking) ::pthread_mutex_lock(&walks);
}

void end_walks() {
  walks_ended = true;
}

void release_walks() {
  if (mode != Mode::kWalking) ::pthread_mutex_unlock(&walks);
}

}  // namespace zazen::trace
