#include "preload/hooks/spawn_layout.h"

#include <fcntl.h>

#include <atomic>
#include <cstring>

#include "preload/calls/real.h"

namespace zazen {
namespace {

enum class Layout { kUnknown, kAsDescribed, kOther };
constinit std::atomic<Layout> layout{Layout::kUnknown};

constexpr char kOpened[] = "/opened", kEntered[] = "/entered";
constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND;
constexpr mode_t kMode = 0641;

auto* add_closefrom() {  // null before glibc 2.34
  return real::known(real::next.posix_spawn_file_actions_addclosefrom_np);
}

bool add_one_of_each(posix_spawn_file_actions_t* list) {
  return real::late(real::next.posix_spawn_file_actions_addopen)(list, 11, kOpened, kFlags,
                                                                 kMode) == 0 &&
         ::posix_spawn_file_actions_adddup2(list, 12, 13) == 0 &&
         ::posix_spawn_file_actions_addclose(list, 14) == 0 &&
         ::posix_spawn_file_actions_addchdir_np(list, kEntered) == 0 &&
         ::posix_spawn_file_actions_addfchdir_np(list, 15) == 0 &&
         (add_closefrom() == nullptr || add_closefrom()(list, 16) == 0);
}

bool is_as_described(const posix_spawn_file_actions_t& list) {
  const int used = add_closefrom() != nullptr ? 6 : 5;
  if (list.__used != used || list.__allocated < used) return false;
  const auto* a = reinterpret_cast<const SpawnAction*>(list.__actions);
  // Checks the numbers first: if they are right, the pointers between them are, too.
  return a[0].kind == SpawnAction::kOpen && a[0].open.fd == 11 && a[0].open.flags == kFlags &&
         a[0].open.mode == kMode && a[1].kind == SpawnAction::kDup2 && a[1].dup2.fd == 12 &&
         a[1].dup2.new_fd == 13 && a[2].kind == SpawnAction::kClose && a[2].fd == 14 &&
         a[3].kind == SpawnAction::kChdir && a[4].kind == SpawnAction::kFchdir &&
         a[4].fd == 15 &&
         (used == 5 || (a[5].kind == SpawnAction::kClosefrom && a[5].fd == 16)) &&
         std::strcmp(a[0].open.path, kOpened) == 0 && std::strcmp(a[3].chdir, kEntered) == 0;
}

}  // namespace

void learn_spawn_layout() {
  if (layout.load(std::memory_order_relaxed) != Layout::kUnknown) return;
  posix_spawn_file_actions_t list;
  if (::posix_spawn_file_actions_init(&list) != 0) return;
  if (add_one_of_each(&list)) {
    layout.store(is_as_described(list) ? Layout::kAsDescribed : Layout::kOther,
                 std::memory_order_relaxed);
  }
  ::posix_spawn_file_actions_destroy(&list);
}

SpawnActions spawn_actions(const posix_spawn_file_actions_t* actions) {
  if (actions == nullptr || actions->__used <= 0 ||
      layout.load(std::memory_order_relaxed) != Layout::kAsDescribed) {
    return {nullptr, 0};
  }
  return {reinterpret_cast<const SpawnAction*>(actions->__actions),
          static_cast<std::size_t>(actions->__used)};
}

posix_spawn_file_actions_t with_actions(const posix_spawn_file_actions_t& actions,
                                        SpawnAction* other) {
  posix_spawn_file_actions_t list = actions;
  list.__actions = reinterpret_cast<struct __spawn_action*>(other);
  return list;
}

}  // namespace zazen
