#include "tools/bench/support/cases.h"

#include <algorithm>
#include <cstring>

namespace zazen {
namespace {

constexpr std::uint64_t kKiB = 1024;

constexpr Case kCases[] = {
    {"read-4k", "read a frame of 4 KB", CaseKind::kReadFrame, 4 * kKiB, false, 100, 1},
    {"read-430k", "read a frame of 430 KB", CaseKind::kReadFrame, 430 * kKiB, false, 20, 1},
    {"read-2m", "read a frame of 2 MB", CaseKind::kReadFrame, 2048 * kKiB, false, 10, 1},
    {"stat-frame", "stat of a frame", CaseKind::kStatFrame, 0, false, 40, 16},
    {"open-other-absolute", "open and close another file", CaseKind::kOpenOther, 0, false, 40,
     16},
    {"open-other-relative", "  by its relative name", CaseKind::kOpenOther, 0, true, 40, 16},
    {"stat-other-absolute", "stat of another file", CaseKind::kStatOther, 0, false, 40, 16},
    {"stat-other-relative", "  by its relative name", CaseKind::kStatOther, 0, true, 40, 16},
    {"exec", "fork, exec of /bin/true, wait", CaseKind::kExec, 0, false, 12, 1},
};

}  // namespace

std::span<const Case> shim_cases() {
  return kCases;
}

std::vector<BenchFrame> bench_frames() {
  std::vector<BenchFrame> frames;
  for (const Case& each : kCases) {
    for (int i = 0; each.kind == CaseKind::kReadFrame && i < kFramesOfEachSize; ++i) {
      frames.push_back({frames.size(), each.bytes});
    }
  }
  return frames;
}

// A different sequence for each frame, so that a wrong frame or a wrong offset shows.
std::string frame_content(const BenchFrame& frame) {
  std::string content(frame.bytes, '\0');
  std::uint64_t state = frame.seq + 1;
  for (std::size_t at = 0; at < content.size(); at += sizeof state) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(&content[at], &state, std::min(sizeof state, content.size() - at));
  }
  return content;
}

}  // namespace zazen
