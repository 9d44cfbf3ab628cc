#include "preload/route.h"

#include <cstring>

#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/settings.h"

namespace zazen {

Route find_route(int dirfd, const char* path) {
  Route route;
  if (!settings.active || guard_is_raised()) return route;
  std::size_t length = std::strlen(path);
  ErrnoKeeper keep;
  bool alive = false;
  route.now_ms = monotonic_ms();
  const Node* node = current_node(&alive, route.now_ms);
  const CurrentView* view = current_view();

  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    if (!match_path(node->places[i], dirfd, path, length, &route.seq)) continue;
    route.place = &node->places[i];
    route.node = node;
    route.dataset = i;
    route.alive = alive;
    int index = view == nullptr ? -1 : view_dataset(*view, node->table->datasets[i].path);
    if (index >= 0) {
      route.view = view;
      route.view_dataset = static_cast<std::uint32_t>(index);
    }
    return route;
  }
  for (std::uint32_t i = 0; view != nullptr && i < view->view->dataset_count; ++i) {
    if (!match_path(view->places[i], dirfd, path, length, &route.seq)) continue;
    route.place = &view->places[i];
    route.view = view;
    route.view_dataset = i;
    return route;
  }
  return route;
}

}  // namespace zazen
