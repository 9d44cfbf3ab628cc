#include "tools/bench/support/slow_origin.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "bodhi/common/unique_fd.h"
#include "bodhi/node/client.h"
#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

std::string backing_of(const BenchLayout& layout) {
  return layout.root + "/backing";
}

}  // namespace

SlowOrigin SlowOrigin::mount(const Programs& programs, const BenchLayout& layout,
                             std::uint64_t rate) {
  if (access(programs.slow_origin.c_str(), X_OK) != 0) {
    throw Error{errno, programs.slow_origin, "build it: cmake --build --preset release"};
  }
  struct stat before = {};
  if (mkdir(backing_of(layout).c_str(), 0755) != 0 ||
      mkdir(layout.dataset().c_str(), 0755) != 0 ||
      stat(layout.dataset().c_str(), &before) != 0) {
    throw last_error(layout.dataset());
  }
  UniqueFd errors(open((layout.root + "/server.log").c_str(),
                       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  ChildProcess process =
      take(ChildProcess::start({programs.slow_origin, backing_of(layout), layout.dataset(),
                                std::to_string(rate), "cached"},
                               plain_environment(), {-1, -1, errors.get()}));
  auto is_mounted = [&]() -> Result<bool> {
    if (process.ended()) {
      char why[1024];
      ssize_t size = pread(errors.get(), why, sizeof why, 0);
      return Error{EPROTO,
                   "FUSE cannot be mounted here: " +
                       std::string(why, static_cast<std::size_t>(std::max<ssize_t>(size, 0))),
                   {}};
    }
    struct stat now = {};
    return stat(layout.dataset().c_str(), &now) == 0 && now.st_dev != before.st_dev;
  };
  take(wait_until("the file server", is_mounted));
  return SlowOrigin(layout, std::move(process));
}

void SlowOrigin::make_frames(FrameSeq first, FrameSeq count, std::uint64_t bytes,
                             bool has_holes) const {
  std::mt19937_64 random(first);
  std::vector<std::uint64_t> content(has_holes ? 0 : bytes / sizeof(std::uint64_t));
  for (FrameSeq seq = first; seq < first + count; ++seq) {
    std::ranges::generate(content, std::ref(random));
    std::string path = backing_of(layout_) + "/" + layout_.frame_name(seq);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size() * sizeof(std::uint64_t)));
    file.close();
    const timespec times[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    if (!file || truncate(path.c_str(), static_cast<off_t>(bytes)) != 0 ||
        utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) {
      throw last_error(path);
    }
  }
}

void SlowOrigin::control(const std::string& command) const {
  UniqueFd control(open((layout_.dataset() + "/.control").c_str(), O_WRONLY | O_CLOEXEC));
  (void)!write(control.get(), command.data(), command.size());
}

void SlowOrigin::forget(FrameSeq first, FrameSeq count) const {
  Client client = take(Client::connect(layout_.runtime()));
  take(client.evict(layout_.dataset(), 0, ~FrameSeq{0}, kEvictNatives | kEvictAliens));
  for (FrameSeq seq = first; seq < first + count; ++seq) {
    UniqueFd fd(open(layout_.origin(seq).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) throw last_error(layout_.origin(seq));
    posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::uint64_t SlowOrigin::sum(const std::string& account, const std::string& of) const {
  std::string text(1 << 20, '\0');
  UniqueFd file(open((layout_.dataset() + "/" + account).c_str(), O_RDONLY | O_CLOEXEC));
  text.resize(static_cast<std::size_t>(
      std::max<ssize_t>(pread(file.get(), text.data(), text.size(), 0), 0)));
  std::istringstream lines(text);
  std::uint64_t sum = 0, count = 0;
  for (std::string what; lines >> count >> what;) sum += of.empty() || what == of ? count : 0;
  return sum;
}

}  // namespace zazen
