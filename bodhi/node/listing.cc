// Reading a directory, by raw system calls.
#include "bodhi/node/listing.h"

#include <dirent.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

#include "bodhi/common/directory_entries.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::int64_t kSettleNs = 2'000'000'000;
constexpr std::int64_t kNeverSettled = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kEntriesBytes = 512 * 1024;
constexpr int kAttempts = 3;

std::int64_t to_ns(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Templates that write the least and the greatest number alike are the same.
std::uint64_t mark_of(const FrameName& name) {
  std::uint64_t mark = 0;
  for (FrameSeq seq : {FrameSeq{0}, ~FrameSeq{0}}) {
    char text[kMaxTemplate + 32];
    mark = XXH3_64bits_withSeed(text, name.format(seq, text, sizeof text), mark);
  }
  return mark;
}

DirectoryIdentity identity_of_directory(const struct stat& st, std::uint64_t names) {
  return {st.st_ino, to_ns(st.st_mtim), to_ns(st.st_ctim), names};
}

struct Entries {
  std::vector<std::pair<FrameSeq, std::uint64_t>> frames;  // with inode number
  std::vector<OrdinaryName> others;
};

int read_entries(int fd, const FrameName& name, Entries* out) {
  return visit_entries(
      fd, kEntriesBytes, [&](std::string_view text, std::uint64_t ino, std::uint8_t type) {
        FrameSeq seq;
        if (name.type_fits(type) && name.match_entry(text.data(), text.size(), &seq)) {
          out->frames.emplace_back(seq, ino);
        } else {
          out->others.push_back({std::string(text), ino, type});
        }
        return true;
      });
}

Listing make_listing(const DirectoryIdentity& directory, std::int64_t taken_at_ns,
                     Entries entries) {
  Listing listing;
  listing.directory = directory;
  listing.taken_at_ns = taken_at_ns;
  auto& frames = entries.frames;
  std::sort(frames.begin(), frames.end());
  // A directory that changes while it is read may show an entry twice.
  auto same_seq = [](const auto& a, const auto& b) { return a.first == b.first; };
  frames.erase(std::unique(frames.begin(), frames.end(), same_seq), frames.end());
  listing.frames.reserve(frames.size());
  listing.inodes.reserve(frames.size());
  for (const auto& [seq, ino] : frames) {
    listing.frames.push_back(seq);
    listing.inodes.push_back(ino);
  }
  auto& others = entries.others;
  std::sort(others.begin(), others.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  auto same_name = [](const auto& a, const auto& b) { return a.name == b.name; };
  others.erase(std::unique(others.begin(), others.end(), same_name), others.end());
  listing.others = std::move(others);
  return listing;
}

}  // namespace

bool is_settled(const DirectoryIdentity& directory, std::int64_t taken_at_ns) {
  // The later of the two: mtime can be set back, ctime cannot.
  std::int64_t changed_ns = std::max(directory.mtime_ns, directory.ctime_ns);
  return changed_ns <= std::numeric_limits<std::int64_t>::max() - kSettleNs &&
         taken_at_ns >= changed_ns + kSettleNs;
}

std::string frame_directory(const std::string& dataset, const FrameName& name) {
  if (name.directory_length() == 0) return dataset;
  return dataset + "/" + std::string(name.directory(), name.directory_length());
}

Result<DirectoryIdentity> stat_directory(const std::string& directory, const FrameName& name) {
  struct stat st;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, directory.c_str(), &st, 0);
  if (result != 0) return Error{static_cast<int>(-result), directory + ": stat", {}};
  if (!S_ISDIR(st.st_mode)) return Error{ENOTDIR, directory + ": stat", {}};
  return identity_of_directory(st, mark_of(name));
}

Result<Listing> list_directory(const std::string& directory, const FrameName& name) {
  RawFd fd(raw_open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return Error{-fd.get(), directory + ": open", {}};
  const std::uint64_t names = mark_of(name);
  for (int attempt = 1;; ++attempt) {
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    struct stat before, after;
    Entries entries;
    int error = -raw_fstat(fd.get(), &before);
    if (error == 0) error = read_entries(fd.get(), name, &entries);
    if (error == 0) error = -raw_fstat(fd.get(), &after);
    if (error != 0) return Error{error, directory + ": list", {}};

    DirectoryIdentity identity = identity_of_directory(before, names);
    bool stood_still = identity == identity_of_directory(after, names);
    if (stood_still || attempt == kAttempts) {
      return make_listing(identity, stood_still ? to_ns(now) : kNeverSettled,
                          std::move(entries));
    }
    raw_call(SYS_lseek, fd.get(), 0, SEEK_SET);
  }
}

}  // namespace zazen
