#include "daemon/worker/origins/origin_way.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "bodhi/common/open_beneath.h"
#include "daemon/process/beneath.h"

namespace zazen {
namespace {

constexpr int kMostFollowed = 40;        // links: the same limit as the kernel's
constexpr std::size_t kMostSteps = 256;  // each holds a descriptor

struct Entry {
  UniqueFd directory;
  int code = 0;      // the errno if there is none
  std::string link;  // the target, if it is a link
};

// O_DIRECTORY: without it an automounter would not mount.
Entry look(int parent, const std::string& name) {
  Entry entry;
  entry.directory.reset(
      ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (entry.directory.valid()) return entry;
  entry.code = errno;
  if (entry.code != ENOTDIR && entry.code != ELOOP) return entry;
  char target[PATH_MAX];
  ssize_t length = ::readlinkat(parent, name.c_str(), target, sizeof target);
  if (length > 0) entry.link.assign(target, static_cast<std::size_t>(length));
  return entry;
}

}  // namespace

OriginWay::OriginWay(const std::string& path, const std::string& below)
    : components_(path_components(path).size() + path_components(below).size()),
      root_(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      here_(root_.get()) {
  status_ = walk(path_components(path + "/" + below), path_components(path).size());
}

int OriginWay::walk(const std::vector<std::string>& components, std::size_t followed) {
  for (; reached_ < components.size(); ++reached_) {
    int code = enter(components[reached_], reached_ < followed);
    if (code != 0) return code;
  }
  return 0;
}

int OriginWay::enter(const std::string& component, bool follows) {
  std::vector<std::string> left{component};  // the next one last
  while (!left.empty()) {
    const std::string name = std::move(left.back());
    left.pop_back();
    if (steps_.size() >= kMostSteps) return ELOOP;
    Entry entry = look(here_, name);
    if (!entry.directory.valid()) {
      if (entry.link.empty()) return entry.code;
      if (!follows || ++links_ > kMostFollowed) return ELOOP;
      std::vector<std::string> target = path_components(entry.link);
      std::move(target.rbegin(), target.rend(), std::back_inserter(left));
      if (entry.link.front() != '/') continue;
      // The root is one of the directories on the way, even if the link ends there.
      entry.directory.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!entry.directory.valid()) return errno;
    }
    Step step{reached_, std::move(entry.directory), {}};
    if (::fstat(step.directory.get(), &step.st) != 0) return errno;
    here_ = step.directory.get();
    steps_.push_back(std::move(step));
  }
  return 0;
}

UniqueFd OriginWay::open(const std::string& leaf, int flags) const {
  errno = status_;
  if (status_ != 0) return {};
  return open_beneath(here_, leaf.c_str(), flags);
}

std::optional<FrameDirectory> OriginWay::last() const {
  struct statx found = {};
  if (status_ != 0 || ::statx(here_, "", AT_EMPTY_PATH,
                              STATX_INO | STATX_UID | STATX_GID | STATX_BTIME, &found) != 0) {
    return std::nullopt;
  }
  const bool has_birth = (found.stx_mask & STATX_BTIME) != 0;
  return FrameDirectory{makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino,
                        has_birth ? found.stx_btime.tv_sec * 1'000'000'000 +
                                        static_cast<std::int64_t>(found.stx_btime.tv_nsec)
                                  : 0,
                        found.stx_uid, found.stx_gid};
}

bool OriginWay::is_empty() const {
  UniqueFd directory = open(".", O_RDONLY | O_DIRECTORY);
  DIR* stream = directory.valid() ? ::fdopendir(directory.get()) : nullptr;
  if (stream == nullptr) return true;
  directory.release();
  bool is_empty = true;
  while (dirent* entry = is_empty ? ::readdir(stream) : nullptr) {
    is_empty = std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
  }
  ::closedir(stream);
  return is_empty;
}

// The attributes of an O_PATH descriptor can only be read by its link in /proc.
AccessList OriginWay::rights_of(const Step& step, Right right) {
  const std::string link = "/proc/self/fd/" + std::to_string(step.directory.get());
  return AccessList::of(step.st, read_acl(link), right);
}

ReachedDirectories OriginWay::directories() const {
  ReachedDirectories all(components_, {{}, AccessList::nobody()});
  for (std::size_t i = 0; i < reached_; ++i) all[i].searchers = AccessList::everybody();
  for (const Step& step : steps_) {
    if (step.component >= reached_) break;
    ReachedDirectory& reached = all[step.component];
    reached.places.emplace_back(step.st.st_dev, step.st.st_ino);
    reached.searchers = reached.searchers.both(rights_of(step, Right::kSearch));
  }
  for (ReachedDirectory& reached : all) {
    if (reached.places.empty()) reached.searchers = AccessList::nobody();
  }
  return all;
}

AccessList OriginWay::listers() const {
  if (status_ != 0 || steps_.empty()) return AccessList::nobody();
  AccessList all = rights_of(steps_.back(), Right::kRead);
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    if (steps_[i].component + 1 == components_)
      all = all.both(rights_of(steps_[i], Right::kSearch));
  }
  return all;
}

bool says_no(int code) {
  return code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM || code == ELOOP;
}

std::optional<RightsAtOrigin> rights_at_origin(const DatasetConfig& dataset) {
  const OriginWay way(dataset.path,
                      {dataset.name.directory(), dataset.name.directory_length()});
  if (way.status() != 0 && !says_no(way.status())) return std::nullopt;
  return RightsAtOrigin{way.directories(), way.listers(), way.last(), way.is_empty()};
}

FrameRights frame_rights(const DatasetConfig& dataset, const std::string& name) {
  auto [below, leaf] = split_name(name);
  const OriginWay way(dataset.path, below);
  const UniqueFd frame = way.open(leaf, O_PATH | O_NOFOLLOW);
  FrameRights rights;
  rights.is_known = frame.valid() || says_no(errno);
  rights.reached = way.directories();
  rights.is_there = frame.valid() && ::fstat(frame.get(), &rights.origin) == 0;
  return rights;
}

}  // namespace zazen
