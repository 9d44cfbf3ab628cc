#include "preload/process/current_view.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/division.h"
#include "preload/process/log.h"
#include "preload/process/settings.h"

namespace zazen {

constinit std::atomic<CurrentView*> active_view{nullptr};

namespace {

constinit CurrentView* adopted = nullptr;  // only the thread in MPI_Init touches it

std::size_t size_of(const View& view) {
  return sizeof(CurrentView) + view.dataset_count * sizeof(DatasetMatcher);
}

void discard(CurrentView* view) {
  std::size_t size = size_of(*view->view);
  unmap_view(view->view, view->tally);
  ::munmap(view, size);
}

CurrentView* map_current(const char* directory) {
  std::size_t length = std::strlen(directory);
  if (length == 0 || length >= kMaxPath) return nullptr;
  const View* view = nullptr;
  Tally* tally = nullptr;
  if (!map_view(directory, &view, &tally)) return nullptr;
  void* memory = ::mmap(nullptr, size_of(*view), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    unmap_view(view, tally);
    return nullptr;
  }
  CurrentView* current = static_cast<CurrentView*>(memory);
  current->view = view;
  current->tally = tally;
  std::memcpy(current->directory, directory, length);
  char* out = current->variable;
  std::memcpy(out, kViewVariable, sizeof kViewVariable - 1);
  out[sizeof kViewVariable - 1] = '=';
  std::memcpy(out + sizeof kViewVariable, directory, length);
  for (std::uint32_t i = 0; i < view->dataset_count; ++i) {
    if (!make_matcher(view->datasets[i].path, view->datasets[i].frames,
                      &current->matchers[i])) {
      discard(current);
      return nullptr;
    }
    path_prefilter.add(current->matchers[i].name);
  }
  return current;
}

// Null if this process is not the rank itself.
const CurrentView* own_view() {
  const CurrentView* current = current_view();
  bool own = current != nullptr && current->view->owner_pid == raw_call(SYS_getpid);
  return own ? current : nullptr;
}

}  // namespace

bool path_in_reports(const char* directory, char* out, std::size_t capacity) {
  const char* slash = std::strrchr(directory, '/');
  constexpr std::size_t kJobs = sizeof kJobsDirectory - 1,
                        kReports = sizeof kReportsDirectory - 1;
  if (slash == nullptr || static_cast<std::size_t>(slash - directory) < kJobs + 1) return false;
  const char* jobs = slash - kJobs;
  if (jobs[-1] != '/' || std::strncmp(jobs, kJobsDirectory, kJobs) != 0) return false;
  const auto runtime = static_cast<std::size_t>(jobs - directory);
  const std::size_t name = std::strlen(slash) + 1;
  if (runtime + kReports + name > capacity) return false;
  std::memcpy(out, directory, runtime);
  std::memcpy(out + runtime, kReportsDirectory, kReports);
  std::memcpy(out + runtime + kReports, slash, name);
  return true;
}

bool move_to_reports(const char* directory) {
  char target[kMaxPath + sizeof kReportsDirectory];
  return path_in_reports(directory, target, sizeof target) &&
         raw::renameat2(AT_FDCWD, directory, AT_FDCWD, target, 0) == 0;
}

int adopt_view(const char* directory, const View** view, Tally** tally) {
  ErrnoKeeper keep;
  drop_view();
  CurrentView* current = map_current(directory);
  if (current == nullptr) return EINVAL;
  adopted = current;
  *view = current->view;
  *tally = current->tally;
  return 0;
}

void activate_view() {
  if (adopted == nullptr || current_view() != nullptr) return;
  ErrnoKeeper keep;
  for (std::uint32_t d = 0; d < adopted->view->dataset_count; ++d) {
    if (was_listed_early(adopted->view->datasets[d].path)) {
      adopted->tally->datasets[d].listed_early.store(1, std::memory_order_relaxed);
    }
  }
  ::setenv(kViewVariable, adopted->directory, 1);
  active_view.store(adopted, std::memory_order_release);
  adopted = nullptr;
}

void drop_view() {
  if (adopted == nullptr) return;
  ErrnoKeeper keep;
  discard(adopted);
  adopted = nullptr;
}

void inherit_view(const char* directory) {
  ErrnoKeeper keep;
  CurrentView* current = map_current(directory);
  if (current == nullptr) {
    log_line(LogLevel::kWarn, "the view %s is gone or damaged; listings are not filtered",
             directory);
    return;
  }
  active_view.store(current, std::memory_order_release);
}

void note_ending(Ending ending) {
  const CurrentView* current = own_view();
  Ending none = Ending::kNoWord;
  if (current != nullptr) current->tally->ending.compare_exchange_strong(none, ending);
}

void archive_own_view() {
  const CurrentView* current = own_view();
  if (current == nullptr) return;
  ErrnoKeeper keep;
  if (move_to_reports(current->directory)) return;
  int fd = raw::openat(AT_FDCWD, current->directory,
                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) return;
  raw::unlinkat(fd, kViewFile, 0);
  raw::unlinkat(fd, kTallyFile, 0);
  raw::close(fd);
  raw::unlinkat(AT_FDCWD, current->directory, AT_REMOVEDIR);
}

int view_dataset(const CurrentView& current, const char* path) {
  for (std::uint32_t i = 0; i < current.view->dataset_count; ++i) {
    if (std::strcmp(current.view->datasets[i].path, path) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace zazen
