// Before and after its measurements the worker checks what it measures. The bytes are the
// frame's, the file behind the descriptor is the copy, and stat shows the origin's inode
// through the shim. These checks look below the shim by raw system calls.
#include "tools/bench/support/worker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t now_ns() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Nanoseconds of one call, for each sample; the first, after the other side's turn, is not
// counted. call(i) is false if it failed.
template <class Call>
std::vector<double> take_samples(const Case& what, Call call) {
  std::vector<double> samples(static_cast<std::size_t>(what.samples) + 1);
  std::size_t calls = 0;
  bool good = true;
  for (double& sample : samples) {
    std::int64_t begin = now_ns();
    for (int i = 0; i < what.batch; ++i) good &= call(calls++);
    sample = static_cast<double>(now_ns() - begin) / what.batch;
  }
  if (!good) throw Failure(std::string(what.name) + ": a call failed");
  samples.erase(samples.begin());
  return samples;
}

struct stat stat_below_shim(const std::string& path) {
  struct stat st;
  if (raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &st, 0) != 0) {
    throw Failure(path + ": not there");
  }
  return st;
}

bool open_and_close(const char* path) {
  int fd = open(path, O_RDONLY);
  return fd >= 0 && close(fd) == 0;
}

bool is_there(const char* path) {
  struct stat st;
  return stat(path, &st) == 0;
}

bool run_true() {
  pid_t pid = fork();
  if (pid == 0) {
    char name[] = "true";
    char* words[] = {name, nullptr};
    execv("/bin/true", words);
    _exit(127);
  }
  int status = -1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

class Worker {
 public:
  Worker(Side side, const std::string& root) : side_(side), layout_{root} {
    for (const BenchFrame& frame : bench_frames()) {
      frames_.push_back(frame);
      paths_.push_back(side == Side::kShim ? layout_.origin(frame.seq)
                                           : layout_.copy(frame.seq));
      buffer_.resize(std::max<std::size_t>(buffer_.size(), frame.bytes));
    }
    if (chdir(layout_.other_directory().c_str()) != 0) {
      throw Failure(layout_.other_directory());
    }
  }

  void run() {
    check_frames();
    for (std::string name; std::getline(std::cin, name);) {
      for (const Case& each : shim_cases()) {
        if (name == each.name) std::cout << nlohmann::json(measure(each)) << std::endl;
      }
    }
    check_frames();
    std::cout << frame_opens_ << std::endl;
  }

 private:
  void check_frames() {
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      struct stat copy = stat_below_shim(layout_.copy(frames_[i].seq));
      struct stat shown, opened;
      int fd = open(paths_[i].c_str(), O_RDONLY);
      ++frame_opens_;
      if (fd < 0 || raw_fstat(fd, &opened) != 0 || opened.st_ino != copy.st_ino ||
          opened.st_dev != copy.st_dev) {
        throw Failure(paths_[i] + ": not opened from the cache");
      }
      close(fd);
      if (!read_frame(i) || buffer_.compare(0, frames_[i].bytes, frame_content(frames_[i]))) {
        throw Failure(paths_[i] + ": wrong bytes");
      }
      struct stat expected =
          side_ == Side::kShim ? stat_below_shim(layout_.origin(frames_[i].seq)) : copy;
      if (stat(paths_[i].c_str(), &shown) != 0 || shown.st_ino != expected.st_ino) {
        throw Failure(paths_[i] + ": stat shows another file");
      }
    }
  }

  std::vector<double> measure(const Case& what) {
    std::string other =
        (what.relative ? "" : layout_.other_directory() + "/") + layout_.other_name();
    switch (what.kind) {
      case CaseKind::kReadFrame: {
        std::size_t first = 0;
        while (frames_[first].bytes != what.bytes) ++first;
        return take_samples(
            what, [&](std::size_t i) { return read_frame(first + i % kFramesOfEachSize); });
      }
      case CaseKind::kStatFrame:
        return take_samples(
            what, [&](std::size_t i) { return is_there(paths_[i % paths_.size()].c_str()); });
      case CaseKind::kOpenOther:
        return take_samples(what, [&](std::size_t) { return open_and_close(other.c_str()); });
      case CaseKind::kStatOther:
        return take_samples(what, [&](std::size_t) { return is_there(other.c_str()); });
      case CaseKind::kExec:
        return take_samples(what, [](std::size_t) { return run_true(); });
    }
    throw Failure(what.name);
  }

  bool read_frame(std::size_t i) {
    struct stat st;
    int fd = open(paths_[i].c_str(), O_RDONLY);
    if (fd < 0) return false;
    ++frame_opens_;
    bool good =
        fstat(fd, &st) == 0 && static_cast<std::uint64_t>(st.st_size) == frames_[i].bytes &&
        read(fd, buffer_.data(), frames_[i].bytes) == static_cast<ssize_t>(frames_[i].bytes);
    return close(fd) == 0 && good;
  }

  Side side_;
  BenchLayout layout_;
  std::vector<BenchFrame> frames_;
  std::vector<std::string> paths_;  // as this side opens them
  std::string buffer_;
  std::uint64_t frame_opens_ = 0;
};

}  // namespace

int shim_worker(Side side, const std::string& root) {
  try {
    Worker(side, root).run();
    return 0;
  } catch (const Failure& failure) {
    fmt::print(stderr, "zazen-bench: error: {} side: {}\n",
               side == Side::kShim ? "shim" : "plain", failure.what());
    return 1;
  }
}

}  // namespace zazen
