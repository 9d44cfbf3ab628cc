#include "preload/trace/record.h"

#include <dlfcn.h>

#include "preload/trace/call_site.h"
#include "preload/trace/figures.h"
#include "preload/trace/frame_files.h"

namespace zazen::trace {
namespace {

using LastOpen = int();
constinit LastOpen* last_open = nullptr;

constexpr int kHit = 1, kMiss = 2;  // zazen_last_open()

void add(std::atomic<std::uint64_t>& figure, std::uint64_t amount) {
  figure.fetch_add(amount, std::memory_order_relaxed);
}

Figures& figures_of(bool frame, std::uint64_t nanoseconds, const void* caller) {
  Site& site = site_at(call_site(caller));
  Figures& figures = frame ? site.frames : site.others;
  add(figures.nanoseconds, nanoseconds);
  return figures;
}

}  // namespace

void find_shim() {
  last_open = reinterpret_cast<LastOpen*>(::dlsym(RTLD_DEFAULT, "zazen_last_open"));
}

bool shim_is_loaded() {
  return last_open != nullptr;
}

void forget_last_open() {
  if (last_open != nullptr) last_open();
}

void record_open(int fd, std::uint64_t nanoseconds, const void* caller) {
  int outcome = last_open == nullptr ? 0 : last_open();
  if (outcome != 0) add_frame_file(fd);
  Figures& figures = figures_of(outcome != 0, nanoseconds, caller);
  add(figures.opens, 1);
  if (outcome == kHit) add(figures.hits, 1);
  if (outcome == kMiss) add(figures.misses, 1);
}

void record_read(int fd, std::uint64_t bytes, std::uint64_t nanoseconds, const void* caller) {
  Figures& figures = figures_of(is_frame_file(fd), nanoseconds, caller);
  add(figures.reads, 1);
  add(figures.bytes, bytes);
}

void record_map(int fd, std::uint64_t bytes, std::uint64_t nanoseconds, const void* caller) {
  add(figures_of(is_frame_file(fd), nanoseconds, caller).mapped, bytes);
}

void record_close(bool frame, std::uint64_t nanoseconds, const void* caller) {
  add(figures_of(frame, nanoseconds, caller).closes, 1);
}

}  // namespace zazen::trace
