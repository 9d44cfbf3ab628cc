// The layout of `view`: header, datasets, then for each dataset its runs and its names, then
// the texts of the names, and last, for each dataset, its own frames. All but the texts are
// aligned to 8 bytes. The number of own runs is known only after they have been written. All
// that comes before the own frames is written then.
#include "coord/job/view_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/quiet_signals.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

// The arguments of this process, separated by blanks; "" if they cannot be read.
std::string own_command() {
  char words[kMaxCommand];
  UniqueFd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  ssize_t size = file.valid() ? ::read(file.get(), words, sizeof words - 1) : 0;
  std::string command(words, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return command;
}

std::uint64_t tally_size_of(const ViewContent& content) {
  std::uint64_t tally = sizeof(Tally) + content.datasets.size() * sizeof(TallyDataset);
  for (const ViewDatasetContent& dataset : content.datasets)
    tally += (dataset.domain_count + 63) / 64 * sizeof(std::uint64_t);
  return tally;
}

void copy_text(char* out, std::size_t capacity, const std::string& text) {
  std::memcpy(out, text.data(), std::min(text.size(), capacity - 1));
}

// The part of the file before the own frames.
class ViewFront {
 public:
  explicit ViewFront(const ViewContent& content) : bytes_(size_of(content)) {
    View& head = view();
    head.magic = kViewMagic;
    head.version = kViewVersion;
    head.dataset_count = static_cast<std::uint32_t>(content.datasets.size());
    head.tally_size = tally_size_of(content);
    head.rank = content.rank;
    head.ranks = content.ranks;
    head.nodes = content.nodes;
    head.owner_pid = ::getpid();
    copy_text(head.node_name, sizeof head.node_name, content.node_name);
    head.job = content.job.id;
    head.started_ns = content.job.started_ns;
    copy_text(head.command, sizeof head.command, own_command());

    std::uint64_t end = head_size();
    std::uint64_t opened = sizeof(Tally) + content.datasets.size() * sizeof(TallyDataset);
    for (std::size_t d = 0; d < content.datasets.size(); ++d) {
      const ViewDatasetContent& dataset = content.datasets[d];
      ViewDataset& out = head.datasets[d];
      copy_text(out.path, sizeof out.path, dataset.path);
      copy_text(out.frames, sizeof out.frames, dataset.frames);
      out.frame_directory_ino = dataset.frame_directory_ino;
      out.entry_type = dataset.entry_is_directory ? DT_DIR : DT_REG;
      out.domain_count = dataset.domain_count;

      out.runs_offset = end;
      out.runs_count = dataset.domain.size();
      auto* run = at<ViewRun>(end);
      std::uint64_t index = 0;
      for (const FrameRun& r : dataset.domain) {
        *run++ = {r.first, r.stride, r.count, index};
        index += r.count;
      }
      end += dataset.domain.size() * sizeof(ViewRun);
      out.names_offset = end;
      out.names_count = dataset.names.size();
      end += dataset.names.size() * sizeof(ViewName);
      out.opened_offset = opened;
      opened += (dataset.domain_count + 63) / 64 * sizeof(std::uint64_t);
    }
    for (std::size_t d = 0; d < content.datasets.size(); ++d) {
      auto* name = at<ViewName>(head.datasets[d].names_offset);
      for (const OrdinaryName& n : content.datasets[d].names) {
        name->ino = n.ino;
        name->name_offset = static_cast<std::uint32_t>(end);
        name->type = n.type;
        ++name;
        std::memcpy(at<char>(end), n.name.c_str(), n.name.size() + 1);
        end += n.name.size() + 1;
      }
    }
  }

  View& view() { return *at<View>(0); }
  const std::vector<char>& bytes() const { return bytes_; }
  std::size_t head_size() { return sizeof(View) + view().dataset_count * sizeof(ViewDataset); }

 private:
  static std::size_t size_of(const ViewContent& content) {
    std::size_t size = sizeof(View) + content.datasets.size() * sizeof(ViewDataset);
    for (const ViewDatasetContent& dataset : content.datasets) {
      size += dataset.domain.size() * sizeof(ViewRun) + dataset.names.size() * sizeof(ViewName);
      for (const OrdinaryName& name : dataset.names) size += name.name.size() + 1;
    }
    return (size + 7) / 8 * 8;
  }
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(bytes_.data() + offset);
  }

  std::vector<char> bytes_;  // zeroed
};

// 0 or an errno.
int write_all(int fd, const void* data, std::size_t size) {
  return -raw_write_all(fd, static_cast<const char*>(data), size);
}

int write_whole(int fd, const ViewContent& content, ViewFront& front) {
  std::uint64_t end = front.bytes().size();
  if (::lseek(fd, static_cast<off_t>(end), SEEK_SET) < 0) return errno;
  ViewFrames frames(fd);
  for (std::size_t d = 0; d < content.datasets.size(); ++d) {
    content.datasets[d].own(frames);
    const ViewFrames::Amount own = frames.end_dataset();
    if (own.frames != content.datasets[d].own_count) return EINVAL;
    ViewDataset& out = front.view().datasets[d];
    out.own_offset = end;
    out.own_runs = own.runs;
    out.own_count = own.frames;
    end += own.runs * sizeof(ViewOwnRun);
  }
  if (int code = frames.flush()) return code;
  front.view().file_size = end;
  if (::lseek(fd, 0, SEEK_SET) != 0) return errno;
  return write_all(fd, front.bytes().data(), front.bytes().size());
}

}  // namespace

void ViewFrames::begin_or_widen(const ViewFrame& frame) {
  if (length_ == 1) {
    const std::uint64_t step = frame.seq - last_.seq;
    const auto ino_step = static_cast<std::int64_t>(frame.ino - last_.ino);
    if (step <= std::numeric_limits<std::uint32_t>::max() &&
        ino_step == static_cast<std::int32_t>(ino_step)) {
      run_.stride = static_cast<std::uint32_t>(step);
      run_.ino_stride = static_cast<std::int32_t>(ino_step);
      ino_step_ = static_cast<std::uint64_t>(ino_step);
      length_ = 2;
      last_ = frame;
      return;
    }
  }
  const std::uint64_t index = count();
  end_run();
  run_ = {frame.seq, frame.ino, index, 1, 0};
  length_ = 1;
  last_ = frame;
}

void ViewFrames::add(ViewFrame frame, std::uint64_t seq_step, std::uint64_t ino_step,
                     std::uint64_t count) {
  for (; count != 0; --count, frame.seq += seq_step, frame.ino += ino_step) {
    add(frame);
    if (length_ < 2 || run_.stride != seq_step || ino_step_ != ino_step) continue;
    length_ += count - 1;
    last_ = {frame.seq + (count - 1) * seq_step, frame.ino + (count - 1) * ino_step};
    return;
  }
}

void ViewFrames::end_run() {
  if (length_ == 0) return;
  waiting_[used_++] = run_;
  ++runs_;
  run_.index += length_;
  length_ = 0;
  if (used_ == waiting_.size()) write_waiting();
}

void ViewFrames::write_waiting() {
  if (code_ == 0) code_ = write_all(fd_, waiting_.data(), used_ * sizeof(ViewOwnRun));
  used_ = 0;
}

ViewFrames::Amount ViewFrames::end_dataset() {
  end_run();
  const Amount amount{run_.index, runs_};
  run_ = {};
  runs_ = 0;
  return amount;
}

int ViewFrames::flush() {
  write_waiting();
  return code_;
}

bool add_own_frames(const PackedSet& indexes, const Domain& domain,
                    const PackedListing& listing, ViewFrames* out) {
  DomainWalk walk(domain);
  InodeWalk inodes(listing);
  indexes.for_each_run([&](std::size_t index, std::size_t stride, std::uint64_t count) {
    while (count != 0) {
      const DomainWalk::Stretch frames = walk.stretch(index, stride, count);
      const InodeWalk::Stretch numbers =
          inodes.stretch(frames.first.position, frames.position_step, frames.count);
      out->add({frames.first.seq, numbers.first}, frames.seq_step, numbers.step, numbers.count);
      index += numbers.count * stride;
      count -= numbers.count;
    }
  });
  return inodes.ok();
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
  ViewFront front(content);
  if (front.bytes().size() > std::numeric_limits<std::uint32_t>::max())
    return Error{EOVERFLOW, directory + ": more names than a view can hold", {}};

  QuietSignals quiet;
  const std::string view_path = directory + '/' + kViewFile;
  UniqueFd view(::open(view_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  if (!view.valid()) return last_error(view_path);
  if (int code = write_whole(view.get(), content, front))
    return Error{code, view_path + ": write", {}};

  const std::string tally_path = directory + '/' + kTallyFile;
  UniqueFd tally(::open(tally_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!tally.valid()) return last_error(tally_path);
  const auto tally_size = static_cast<off_t>(front.view().tally_size);
  if (int code = ::posix_fallocate(tally.get(), 0, tally_size))
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
