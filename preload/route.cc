#include "preload/route.h"

#include "preload/hook.h"

namespace zazen {

Route find_route(int dirfd, const char* path, std::size_t length) {
  Route route;
  ErrnoKeeper keep;
  bool alive = false;
  const Node* node = current_node(&alive);
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
