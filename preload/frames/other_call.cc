#include "preload/frames/other_call.h"

#include <time.h>

#include <cstring>

#include "preload/calls/guard.h"
#include "preload/process/current_run.h"
#include "preload/process/node.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

// A local file system opens in a few microseconds, a file server in hundreds.
constexpr std::int64_t kSlowOpenNs = 50'000;

std::int64_t now_ns() {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The rest of a path after the dataset's path; null if it is not below. "" is the directory.
const char* below(const Place& place, const char* path) {
  if (place.path_length == 0 || std::strncmp(path, place.path, place.path_length) != 0) {
    return nullptr;
  }
  const char* rest = path + place.path_length;
  if (*rest != '/' && *rest != '\0') return nullptr;
  while (*rest == '/') ++rest;
  return rest;
}

}  // namespace

void CallBeside::begin() {
  if (settings.active && !guard_is_raised()) began_ns_ = now_ns();
}

void CallBeside::end() {
  ErrnoKeeper keep;
  const std::int64_t taken_ns = now_ns() - began_ns_;
  const bool by_letters = path_[0] == '/';
  if (!by_letters && taken_ns < kSlowOpenNs) return;
  bool alive = false;
  const Node* node = current_node(&alive);
  for (std::uint32_t i = 0; alive && i < node->table->dataset_count; ++i) {
    const Place& place = node->places[i];
    if (node->table->datasets[i].removed != 0) continue;
    const char* name = by_letters ? below(place, path_) : name_in(place, dirfd_, path_);
    if (name == nullptr) continue;
    RunRecord* run = current_run();
    if (run == nullptr) return;
    const std::uint32_t dataset = run->ledger.dataset_of(place.key, place.path);
    if (dataset != Ledger::kNoDataset) run->others.note(dataset, name, call_, taken_ns);
    return;
  }
}

}  // namespace zazen
