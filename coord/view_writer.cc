// The layout of `view`: header, datasets, then for each dataset its runs, its own frames and
// its names, all aligned to 8 bytes, then the texts of the names.
#include "coord/view_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <list>

#include "bodhi/quiet_signals.h"
#include "bodhi/unique_fd.h"

namespace zazen {
namespace {

struct Layout {
  std::uint64_t view_size;
  std::uint64_t texts_offset;
  std::uint64_t tally_size;
};

Layout layout_of(const ViewContent& content) {
  const std::size_t datasets = content.datasets.size();
  std::uint64_t view = sizeof(View) + datasets * sizeof(ViewDataset);
  std::uint64_t tally = sizeof(Tally) + datasets * sizeof(TallyDataset);
  std::uint64_t texts = 0;
  for (const ViewDatasetContent& dataset : content.datasets) {
    view += dataset.domain.size() * sizeof(ViewRun) + dataset.own_count * sizeof(ViewFrame) +
            dataset.names.size() * sizeof(ViewName);
    for (const OrdinaryName& name : dataset.names) texts += name.name.size() + 1;
    tally += (dataset.domain_count + 63) / 64 * sizeof(std::uint64_t);
  }
  return {view + texts, view, tally};
}

void copy_text(char* out, std::size_t capacity, const std::string& text) {
  std::memcpy(out, text.data(), std::min(text.size(), capacity - 1));
}

struct Piece {
  std::vector<char> bytes;                         // zeroed
  const ViewDatasetContent* own_frames = nullptr;  // instead: those of this dataset
};

// The pieces of one file in the order in which they are written.
class Pieces {
 public:
  template <class T>
  T* add(std::size_t count) {
    return reinterpret_cast<T*>(
        all_.emplace_back(Piece{std::vector<char>(count * sizeof(T)), nullptr}).bytes.data());
  }
  void add_own_frames(const ViewDatasetContent& of) { all_.emplace_back(Piece{{}, &of}); }
  const std::list<Piece>& all() const { return all_; }

 private:
  std::list<Piece> all_;
};

Pieces pieces_of_view(const Layout& layout, const ViewContent& content) {
  Pieces pieces;
  const std::uint64_t head = sizeof(View) + content.datasets.size() * sizeof(ViewDataset);
  auto* view = reinterpret_cast<View*>(pieces.add<char>(head));
  view->magic = kViewMagic;
  view->version = kViewVersion;
  view->dataset_count = static_cast<std::uint32_t>(content.datasets.size());
  view->file_size = layout.view_size;
  view->tally_size = layout.tally_size;
  view->rank = content.rank;
  view->ranks = content.ranks;
  view->nodes = content.nodes;
  view->owner_pid = ::getpid();
  copy_text(view->node_name, sizeof view->node_name, content.node_name);
  view->job = content.job.id;
  view->started_ns = content.job.started_ns;
  copy_text(view->command, sizeof view->command, own_command());

  std::uint64_t end = head;
  std::string texts;
  std::uint64_t opened = sizeof(Tally) + content.datasets.size() * sizeof(TallyDataset);
  ViewDataset* out = view->datasets;
  for (const ViewDatasetContent& dataset : content.datasets) {
    copy_text(out->path, sizeof out->path, dataset.path);
    copy_text(out->frames, sizeof out->frames, dataset.frames);
    out->frame_directory_ino = dataset.frame_directory_ino;
    out->entry_type = dataset.entry_is_directory ? DT_DIR : DT_REG;
    out->domain_count = dataset.domain_count;

    out->runs_offset = end;
    out->runs_count = dataset.domain.size();
    auto* run = pieces.add<ViewRun>(dataset.domain.size());
    std::uint64_t index = 0;
    for (const FrameRun& r : dataset.domain) {
      *run++ = {r.first, r.stride, r.count, index};
      index += r.count;
    }
    end += dataset.domain.size() * sizeof(ViewRun);

    out->own_offset = end;
    out->own_count = dataset.own_count;
    pieces.add_own_frames(dataset);
    end += dataset.own_count * sizeof(ViewFrame);

    out->names_offset = end;
    out->names_count = dataset.names.size();
    auto* name = pieces.add<ViewName>(dataset.names.size());
    for (const OrdinaryName& n : dataset.names) {
      name->ino = n.ino;
      name->name_offset = static_cast<std::uint32_t>(layout.texts_offset + texts.size());
      name->type = n.type;
      ++name;
      texts.append(n.name.c_str(), n.name.size() + 1);
    }
    end += dataset.names.size() * sizeof(ViewName);

    out->opened_offset = opened;
    opened += (dataset.domain_count + 63) / 64 * sizeof(std::uint64_t);
    ++out;
  }
  std::ranges::copy(texts, pieces.add<char>(texts.size()));
  return pieces;
}

// 0 or an errno.
int write_all(int fd, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size != 0) {
    ssize_t n = ::write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

int write_piece(int fd, const Piece& piece) {
  if (piece.own_frames == nullptr) return write_all(fd, piece.bytes.data(), piece.bytes.size());
  ViewFrames frames(fd);
  piece.own_frames->own(frames);
  if (int code = frames.flush()) return code;
  return frames.count() == piece.own_frames->own_count ? 0 : EINVAL;
}

}  // namespace

int ViewFrames::flush() {
  if (code_ == 0) code_ = write_all(fd_, waiting_.data(), used_ * sizeof(ViewFrame));
  written_ += used_;
  used_ = 0;
  return code_;
}

Result<std::string> make_view_directory(const std::vector<std::string>& candidates) {
  Error error{ENOENT, "no directory for the view", {}};
  for (const std::string& parent : candidates) {
    std::string path = parent + "/zazen-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) return path;
    error = last_error(parent + ": make a directory for the view");
  }
  return error;
}

Status write_view(const std::string& directory, const ViewContent& content) {
  const Layout layout = layout_of(content);
  if (layout.view_size > std::numeric_limits<std::uint32_t>::max() &&
      layout.texts_offset < layout.view_size)
    return Error{EOVERFLOW, directory + ": more names than a view can hold", {}};

  QuietSignals quiet;
  const std::string view_path = directory + '/' + kViewFile;
  const Pieces pieces = pieces_of_view(layout, content);
  UniqueFd view(::open(view_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  if (!view.valid()) return last_error(view_path);
  for (const Piece& piece : pieces.all())
    if (int code = write_piece(view.get(), piece))
      return Error{code, view_path + ": write", {}};

  const std::string tally_path = directory + '/' + kTallyFile;
  UniqueFd tally(::open(tally_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!tally.valid()) return last_error(tally_path);
  if (int code = ::posix_fallocate(tally.get(), 0, static_cast<off_t>(layout.tally_size)))
    return Error{code, tally_path, {}};
  if (int code = write_all(tally.get(), &kViewMagic, sizeof kViewMagic))
    return Error{code, tally_path + ": write", {}};
  return Done{};
}

void remove_view_directory(const std::string& directory) {
  ::unlink((directory + '/' + kViewFile).c_str());
  ::unlink((directory + '/' + kTallyFile).c_str());
  ::rmdir(directory.c_str());
}

}  // namespace zazen
