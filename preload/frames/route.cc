#include "preload/frames/route.h"

#include <cstring>

#include "bodhi/lean/system/signals_off.h"
#include "preload/calls/cancellation.h"
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

constexpr std::size_t kMaxResolved = 4096;

// Visits the known datasets: match(matcher) tells whether the path names a frame there.
template <class Match>
Route search(Match match) {
  Route route;
  bool alive = false;
  route.now_ms = monotonic_ms();
  const Node* node = current_node(&alive, route.now_ms);
  const CurrentView* view = current_view();

  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    if (!match(node->matchers[i], &route.seq)) continue;
    route.matcher = &node->matchers[i];
    route.node = node;
    route.dataset = i;
    route.alive = alive;
    // Companions belong to every rank.
    if (route.is_companion()) return route;
    int index = view == nullptr ? -1 : view_dataset(*view, node->table->datasets[i].path);
    if (index >= 0) {
      route.view = view;
      route.view_dataset = static_cast<std::uint32_t>(index);
    }
    return route;
  }
  for (std::uint32_t i = 0; view != nullptr && i < view->view->dataset_count; ++i) {
    if (!match(view->matchers[i], &route.seq)) continue;
    route.matcher = &view->matchers[i];
    route.view = view;
    route.view_dataset = i;
    return route;
  }
  return route;
}

// "traj.dcd" in the directory of frame 7: only the kernel's name of the directory has the "7".
[[gnu::noinline]] Route search_by_kernel_name(int dirfd, const char* path, std::size_t last) {
  char resolved[kMaxResolved];
  if (last >= sizeof resolved) return {};
  std::memcpy(resolved, last == 0 ? "." : path, last == 0 ? 1 : last);
  resolved[last == 0 ? 1 : last] = '\0';
  CancellationOff no_cancellation;
  SignalsOff no_signals;
  RawFd directory(raw::openat(dirfd, resolved, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  if (!directory.valid()) return {};
  ssize_t length =
      raw::readlinkat(AT_FDCWD, raw::FdLink(directory.get()).text(), resolved, sizeof resolved);
  std::size_t rest = std::strlen(path + last);
  if (length <= 0 || static_cast<std::size_t>(length) + rest + 2 > sizeof resolved) return {};
  std::size_t used = static_cast<std::size_t>(length);
  resolved[used++] = '/';
  std::memcpy(resolved + used, path + last, rest + 1);
  return search([&](const DatasetMatcher& matcher, FrameSeq* seq) {
    return match_path(matcher, AT_FDCWD, resolved, used + rest, seq);
  });
}

}  // namespace

Route find_route(int dirfd, const char* path) {
  if (!settings.active || guard_is_raised()) return {};
  ErrnoKeeper keep;
  std::size_t length = text_length(path), last = 0;
  bool number_is_above = false;
  // First by text only: a dataset whose server hangs must not delay opens of another dataset.
  Route route = search([&](const DatasetMatcher& matcher, FrameSeq* seq) {
    return match_letters(matcher, path, length, seq);
  });
  if (route) return route;
  route = search([&](const DatasetMatcher& matcher, FrameSeq* seq) {
    if (match_path(matcher, dirfd, path, length, seq)) return true;
    if (matcher.path_length == 0 || !matcher.name.entry_is_directory()) return false;
    for (last = length; last > 0 && path[last - 1] != '/';) --last;
    number_is_above |= matcher.name.match_last_component(path + last, length - last);
    return false;
  });
  return route || !number_is_above ? route : search_by_kernel_name(dirfd, path, last);
}

Route route_of_entry(int dirfd, const char* path) {
  if (!settings.active || guard_is_raised() || !may_be_string(path)) return {};
  ErrnoKeeper keep;
  std::size_t length = std::strlen(path);
  while (length > 1 && path[length - 1] == '/') --length;
  return search([&](const DatasetMatcher& matcher, FrameSeq* seq) {
    return matcher.name.entry_is_directory() &&
           match_entry_path(matcher, dirfd, path, length, seq);
  });
}

}  // namespace zazen
