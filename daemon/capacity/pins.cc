#include "daemon/capacity/pins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr char kPinsFile[] = ".zazen/pins", kNewPins[] = ".zazen/pins.new";
constexpr off_t kLargestFile = 64 << 20;
constexpr FrameSeq kLastSeq = std::numeric_limits<FrameSeq>::max();
// More companions next to each other are meant as all of them.
constexpr FrameSeq kMostCompanions = 4'096;

std::optional<FrameSeq> renumber(FrameSeq seq, const FrameName& former, const FrameName& name) {
  char text[kMaxTemplate + 32];
  FrameSeq now;
  const std::size_t size = former.format(seq, text, sizeof text);
  const bool is_known = size != 0 && name.match(text, size, &now) && name.is_companion(now);
  return is_known ? std::optional(now) : std::nullopt;
}

}  // namespace

Result<Pins> Pins::load(int directory_fd, const DatasetConfig& dataset) {
  UniqueFd file(::openat(directory_fd, kPinsFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return Pins();
  struct stat st = {};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return last_error(kPinsFile);
  if (st.st_size > kLargestFile) return Error{EFBIG, kPinsFile, {}};
  std::string text(static_cast<std::size_t>(st.st_size), '\0');
  long got = raw_read_at(file.get(), text.data(), text.size(), 0);
  if (got < 0) return Error{static_cast<int>(-got), kPinsFile, {}};
  text.resize(static_cast<std::size_t>(got));
  Result<Pins> pins = parse(text);
  char also[kMaxAlso] = {};
  const ssize_t length = ::fgetxattr(file.get(), kAlsoAttribute, also, sizeof also - 1);
  FrameName former;
  const char* why = nullptr;
  const bool has_former =
      pins.ok() && length > 0 && also != dataset.also &&
      FrameName::parse(dataset.frames.data(), dataset.frames.size(), &former, &why) &&
      former.add_also(also, static_cast<std::size_t>(length), &why);
  if (has_former) pins->renumber_companions(former, dataset.name);
  return pins;
}

Status Pins::save(int directory_fd, const DatasetConfig& dataset) const {
  std::string lines = text();
  UniqueFd file(::openat(directory_fd, kNewPins,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return last_error(kNewPins);
  if (int code = raw_write_all(file.get(), lines.data(), lines.size()); code != 0) {
    return Error{-code, kNewPins, {}};
  }
  if (!dataset.also.empty() && ::fsetxattr(file.get(), kAlsoAttribute, dataset.also.data(),
                                           dataset.also.size(), 0) != 0) {
    return last_error(kNewPins);
  }
  if (::fsync(file.get()) != 0 ||
      ::renameat(directory_fd, kNewPins, directory_fd, kPinsFile) != 0) {
    return last_error(kPinsFile);
  }
  UniqueFd state(
      ::openat(directory_fd, kDatasetStateDirectory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!state.valid() || ::fsync(state.get()) != 0) return last_error(kPinsFile);
  return Done{};
}

Result<Pins> Pins::parse(const std::string& text) {
  Pins pins;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    FrameRange range;
    std::istringstream words(line);
    bool whole = static_cast<bool>(words >> range.first >> range.last) && words.eof();
    if (!whole || range.first > range.last) {
      return Error{EINVAL, std::string(kPinsFile) + ": not a range: " + line, {}};
    }
    pins.pin(range);
  }
  return pins;
}

std::string Pins::text() const {
  std::string lines;
  for (const FrameRange& range : ranges_) {
    lines += fmt::format("{} {}\n", range.first, range.last);
  }
  return lines;
}

void Pins::pin(FrameRange range) {
  // Those that overlap it, or end where it begins, become one with it.
  std::vector<FrameRange> others;
  for (const FrameRange& old : ranges_) {
    bool before = old.last != kLastSeq && old.last + 1 < range.first;
    bool after = range.last != kLastSeq && range.last + 1 < old.first;
    if (before || after) {
      others.push_back(old);
    } else {
      range = {std::min(range.first, old.first), std::max(range.last, old.last)};
    }
  }
  auto at = std::ranges::lower_bound(others, range.first, {}, &FrameRange::first);
  others.insert(at, range);
  ranges_ = std::move(others);
}

void Pins::unpin(FrameRange range) {
  std::vector<FrameRange> left;
  for (const FrameRange& old : ranges_) {
    if (old.last < range.first || old.first > range.last) {
      left.push_back(old);
      continue;
    }
    if (old.first < range.first) left.push_back({old.first, range.first - 1});
    if (old.last > range.last) left.push_back({range.last + 1, old.last});
  }
  ranges_ = std::move(left);
}

void Pins::renumber_companions(const FrameName& former, const FrameName& name) {
  Pins now, unpinned;
  FrameSeq next = kFirstCompanion;  // behind the last range
  auto add = [&](Pins& to, FrameSeq first, FrameSeq last) {
    for (FrameSeq seq = first;; ++seq) {
      if (const auto number = renumber(seq, former, name)) to.pin({*number, *number});
      if (seq == last) return;
    }
  };
  for (const FrameRange& range : ranges_) {
    const FrameSeq first = std::max(range.first, kFirstCompanion);
    if (range.first < kFirstCompanion) {
      now.pin({range.first, std::min(range.last, kFirstCompanion - 1)});
    }
    if (range.last < kFirstCompanion) continue;
    if (range.last - first >= kMostCompanions) {
      now.pin({kFirstCompanion, kLastSeq});
    } else {
      add(now, first, range.last);
    }
    // All but a few were pinned.
    if (first > next && first - next < kMostCompanions) add(unpinned, next, first - 1);
    next = range.last + 1;
  }
  for (const FrameRange& range : unpinned.ranges_) now.unpin(range);
  ranges_ = std::move(now.ranges_);
}

bool Pins::contains(FrameSeq seq) const {
  auto after = std::ranges::upper_bound(ranges_, seq, {}, &FrameRange::first);
  return after != ranges_.begin() && std::prev(after)->last >= seq;
}

void Pins::count(FrameSeq seq, FrameKind kind, std::uint64_t bytes) {
  if (!contains(seq)) return;
  held_.add(bytes);
  if (kind == FrameKind::kAlien) held_aliens_.add(bytes);
}

void Pins::discount(FrameSeq seq, FrameKind kind, std::uint64_t bytes) {
  if (!contains(seq)) return;
  held_.take(bytes);
  if (kind == FrameKind::kAlien) held_aliens_.take(bytes);
}

}  // namespace zazen
