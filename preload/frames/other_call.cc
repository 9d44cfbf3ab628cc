#include "preload/frames/other_call.h"

#include <time.h>

#include <cstring>

#include "preload/calls/guard.h"
#include "preload/calls/raw.h"
#include "preload/frames/copy_origin.h"
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
const char* below(const DatasetMatcher& matcher, const char* path) {
  if (matcher.path_length == 0 || std::strncmp(path, matcher.path, matcher.path_length) != 0) {
    return nullptr;
  }
  const char* rest = path + matcher.path_length;
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
  if (path_ == nullptr) return end_stat_of_open(taken_ns);
  const bool by_letters = path_[0] == '/';
  if (!by_letters && taken_ns < kSlowOpenNs) return;
  bool alive = false;
  const Node* node = current_node(&alive);
  for (std::uint32_t i = 0; alive && i < node->table->dataset_count; ++i) {
    const DatasetMatcher& matcher = node->matchers[i];
    if (node->table->datasets[i].removed != 0) continue;
    const char* name = by_letters ? below(matcher, path_) : name_in(matcher, dirfd_, path_);
    if (name != nullptr) return note(*node, i, name, taken_ns);
  }
}

// Apart, for its buffer: the callers' stacks may be small.
[[gnu::noinline]] void CallBeside::end_stat_of_open(std::int64_t taken_ns) {
  struct stat st;
  if (raw::known_fstat(dirfd_, &st) != 0 || has_mode_of_copy(st.st_mode) ||
      !may_be_of_dataset(st)) {
    return;
  }
  constexpr std::size_t kMostName = 256;
  char path[kMaxPath + kMostName];
  const ssize_t length =
      raw::readlinkat(AT_FDCWD, raw::FdLink(dirfd_).text(), path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  bool alive = false;
  const Node* node = current_node(&alive);
  for (std::uint32_t i = 0; alive && i < node->table->dataset_count; ++i) {
    const DatasetMatcher& matcher = node->matchers[i];
    FrameSeq seq = 0;
    if (node->table->datasets[i].removed != 0) continue;
    // A frame or a companion that is read from the origin.
    if (match_letters(matcher, path, static_cast<std::size_t>(length), &seq)) return;
    if (const char* name = below(matcher, path)) return note(*node, i, name, taken_ns);
  }
}

void CallBeside::note(const Node& node, std::uint32_t dataset, const char* name,
                      std::int64_t taken_ns) {
  RunRecord* run = current_run();
  if (run == nullptr) return;
  const DatasetMatcher& matcher = node.matchers[dataset];
  const std::uint32_t noted = run->ledger.dataset_of(matcher.key, matcher.path);
  if (noted != Ledger::kNoDataset) run->others.note(noted, name, call_, taken_ns);
}

}  // namespace zazen
