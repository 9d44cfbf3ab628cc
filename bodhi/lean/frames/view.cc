// A view is checked completely when it is mapped; later code relies on it. Its directory comes
// from an environment variable, so a file of another user or a damaged file is refused.
#include "bodhi/lean/frames/view.h"

#include <cstring>

#include "bodhi/lean/system/published_file.h"

namespace zazen {
namespace {

constexpr std::size_t kMaxName = 256;  // of a directory entry, with its NUL

bool is_terminated(const char* text, std::size_t capacity) {
  return std::memchr(text, '\0', capacity) != nullptr;
}

// An aligned array of `count` elements lies within [begin, end).
bool array_fits(std::uint64_t offset, std::uint64_t count, std::size_t element,
                std::uint64_t begin, std::uint64_t end) {
  return offset % 8 == 0 && offset >= begin && offset <= end &&
         count <= (end - offset) / element;
}

template <class T>
const T* array_at(const View* view, std::uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(view) + offset);
}

bool runs_are_valid(const ViewRun* runs, std::uint64_t count, std::uint64_t domain_count) {
  std::uint64_t index = 0;
  FrameSeq last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ViewRun& run = runs[i];
    std::uint64_t span;
    FrameSeq run_last;
    if (run.count == 0 || run.stride == 0 || run.index != index) return false;
    if (i > 0 && run.first <= last) return false;
    if (__builtin_mul_overflow(run.stride, run.count - 1, &span) ||
        __builtin_add_overflow(run.first, span, &run_last) ||
        __builtin_add_overflow(index, run.count, &index)) {
      return false;
    }
    last = run_last;
  }
  return index == domain_count;
}

std::uint64_t end_of_own_run(const ViewDataset& dataset, const ViewOwnRun* runs,
                             std::uint64_t i) {
  return i + 1 < dataset.own_runs ? runs[i + 1].index : dataset.own_count;
}

bool own_runs_are_valid(const ViewDataset& dataset, const ViewOwnRun* runs) {
  if (dataset.own_runs == 0) return dataset.own_count == 0;
  if (runs[0].index != 0) return false;
  FrameSeq last = 0;
  for (std::uint64_t i = 0; i < dataset.own_runs; ++i) {
    const ViewOwnRun& run = runs[i];
    const std::uint64_t end = end_of_own_run(dataset, runs, i);
    std::uint64_t span;
    FrameSeq run_last;
    if (end <= run.index || run.stride == 0) return false;
    if (i > 0 && run.first <= last) return false;
    if (__builtin_mul_overflow(std::uint64_t{run.stride}, end - run.index - 1, &span) ||
        __builtin_add_overflow(run.first, span, &run_last)) {
      return false;
    }
    last = run_last;
  }
  return true;
}

// The last run whose member is not above the value; 0 if all are above it.
template <class Run>
std::uint64_t last_not_above(const Run* runs, std::uint64_t count, std::uint64_t Run::*member,
                             std::uint64_t value) {
  std::uint64_t low = 0;
  while (count > 1) {
    const std::uint64_t half = count / 2;
    if (runs[low + half].*member <= value) low += half;
    count -= half;
  }
  return low;
}

bool names_are_valid(const View* view, const ViewName* names, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t offset = names[i].name_offset;
    if (offset >= view->file_size) return false;
    std::uint64_t rest = view->file_size - offset;
    const char* name = array_at<char>(view, offset);
    const void* end = std::memchr(name, '\0', rest < kMaxName ? rest : kMaxName);
    if (end == nullptr || end == name) return false;
    if (std::memchr(name, '/',
                    static_cast<std::size_t>(static_cast<const char*>(end) - name))) {
      return false;
    }
    if (i > 0 && std::strcmp(array_at<char>(view, names[i - 1].name_offset), name) >= 0) {
      return false;
    }
  }
  return true;
}

bool dataset_is_valid(const View* view, const ViewDataset& dataset) {
  if (!is_terminated(dataset.path, sizeof dataset.path) || dataset.path[0] != '/') return false;
  if (!is_terminated(dataset.frames, sizeof dataset.frames)) return false;
  FrameName name;
  const char* why;
  if (!FrameName::parse(dataset.frames, std::strlen(dataset.frames), &name, &why)) return false;

  std::uint64_t arrays = sizeof(View) + view->dataset_count * sizeof(ViewDataset);
  std::uint64_t end = view->file_size;
  if (!array_fits(dataset.runs_offset, dataset.runs_count, sizeof(ViewRun), arrays, end) ||
      !array_fits(dataset.own_offset, dataset.own_runs, sizeof(ViewOwnRun), arrays, end) ||
      !array_fits(dataset.names_offset, dataset.names_count, sizeof(ViewName), arrays, end)) {
    return false;
  }
  std::uint64_t bitmaps = sizeof(Tally) + view->dataset_count * sizeof(TallyDataset);
  std::uint64_t words = dataset.domain_count / 64 + (dataset.domain_count % 64 != 0);
  if (!array_fits(dataset.opened_offset, words, 8, bitmaps, view->tally_size)) return false;

  return runs_are_valid(array_at<ViewRun>(view, dataset.runs_offset), dataset.runs_count,
                        dataset.domain_count) &&
         own_runs_are_valid(dataset, array_at<ViewOwnRun>(view, dataset.own_offset)) &&
         names_are_valid(view, array_at<ViewName>(view, dataset.names_offset),
                         dataset.names_count);
}

void* map_whole(const char* directory, const char* name, int flags, int protection,
                std::size_t* size) {
  RawFd file(open_published(directory, name, flags, size));
  return file.valid() && *size != 0 ? map_published(file.get(), *size, protection) : nullptr;
}

}  // namespace

bool view_is_valid(const View* view, std::size_t mapped_size) {
  if (mapped_size < sizeof(View)) return false;
  if (view->magic != kViewMagic || view->version != kViewVersion) return false;
  if (view->file_size != mapped_size || view->dataset_count > kMaxDatasets) return false;
  std::uint64_t datasets = std::uint64_t{view->dataset_count} * sizeof(ViewDataset);
  if (mapped_size - sizeof(View) < datasets) return false;
  if (view->tally_size < sizeof(Tally) + view->dataset_count * sizeof(TallyDataset)) {
    return false;
  }
  if (view->rank < 0 || view->rank >= view->ranks || view->nodes < 0) return false;
  if (!is_terminated(view->node_name, sizeof view->node_name) ||
      !is_terminated(view->command, sizeof view->command)) {
    return false;
  }
  for (std::uint32_t i = 0; i < view->dataset_count; ++i) {
    if (!dataset_is_valid(view, view->datasets[i])) return false;
  }
  return true;
}

bool map_view(const char* directory, const View** view, Tally** tally) {
  std::size_t view_size = 0;
  void* mapped_view = map_whole(directory, kViewFile, O_RDONLY, PROT_READ, &view_size);
  if (mapped_view == nullptr) return false;
  std::size_t tally_size = 0;
  void* mapped_tally =
      map_whole(directory, kTallyFile, O_RDWR, PROT_READ | PROT_WRITE, &tally_size);
  const View* checked = static_cast<const View*>(mapped_view);
  if (mapped_tally != nullptr && view_is_valid(checked, view_size) &&
      checked->tally_size == tally_size &&
      static_cast<Tally*>(mapped_tally)->magic == kViewMagic) {
    *view = checked;
    *tally = static_cast<Tally*>(mapped_tally);
    return true;
  }
  ::munmap(mapped_view, view_size);
  if (mapped_tally != nullptr) ::munmap(mapped_tally, tally_size);
  return false;
}

void unmap_view(const View* view, Tally* tally) {
  std::size_t tally_size = view->tally_size;
  ::munmap(const_cast<View*>(view), view->file_size);
  ::munmap(tally, tally_size);
}

ViewFrame own_frame(const View& view, const ViewDataset& dataset, std::uint64_t i) {
  const ViewOwnRun* runs = array_at<ViewOwnRun>(&view, dataset.own_offset);
  const ViewOwnRun& run = runs[last_not_above(runs, dataset.own_runs, &ViewOwnRun::index, i)];
  const std::uint64_t k = i - run.index;
  return {run.first + k * run.stride,
          run.ino + k * static_cast<std::uint64_t>(std::int64_t{run.ino_stride})};
}

bool is_own(const View& view, const ViewDataset& dataset, FrameSeq seq) {
  if (dataset.own_runs == 0) return false;
  const ViewOwnRun* runs = array_at<ViewOwnRun>(&view, dataset.own_offset);
  const std::uint64_t i = last_not_above(runs, dataset.own_runs, &ViewOwnRun::first, seq);
  if (seq < runs[i].first) return false;
  const std::uint64_t distance = seq - runs[i].first;
  return distance % runs[i].stride == 0 &&
         distance / runs[i].stride < end_of_own_run(dataset, runs, i) - runs[i].index;
}

bool has_name(const View& view, const ViewDataset& dataset, const char* name) {
  const ViewName* names = other_names(view, dataset);
  std::uint64_t low = 0;
  std::uint64_t high = dataset.names_count;
  while (low < high) {
    std::uint64_t middle = low + (high - low) / 2;
    int order = std::strcmp(array_at<char>(&view, names[middle].name_offset), name);
    if (order == 0) return true;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

std::int64_t domain_index(const View& view, const ViewDataset& dataset, FrameSeq seq) {
  if (dataset.runs_count == 0) return -1;
  const ViewRun* runs = array_at<ViewRun>(&view, dataset.runs_offset);
  const ViewRun& run = runs[last_not_above(runs, dataset.runs_count, &ViewRun::first, seq)];
  if (seq < run.first) return -1;
  std::uint64_t distance = seq - run.first;
  if (distance % run.stride != 0 || distance / run.stride >= run.count) return -1;
  return static_cast<std::int64_t>(run.index + distance / run.stride);
}

bool mark_opened(const View& view, Tally* tally, const ViewDataset& dataset, FrameSeq seq) {
  std::int64_t index = domain_index(view, dataset, seq);
  if (index < 0) {
    tally->datasets[&dataset - view.datasets].opened_outside.fetch_add(
        1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  return (opened_words(tally, dataset)[index / 64].fetch_or(bit, std::memory_order_relaxed) &
          bit) == 0;
}

}  // namespace zazen
