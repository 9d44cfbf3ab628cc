#include "preload/trace/frame_files.h"

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "preload/calls/raw.h"
#include "preload/trace/tracing.h"

namespace zazen::trace {
namespace {

using Slot = std::atomic<std::uint64_t>;

constexpr std::size_t kMaxProbes = 64;

constinit Slot* slots = nullptr;
constinit std::atomic<bool> full{false};

// A file in 64 bits; 0 is no file. Two files with one key are as unlikely as 2^-64 allows.
std::uint64_t key_of(int fd) {
  struct stat st;
  if (raw::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  std::uint64_t key = st.st_ino + 0x9e3779b97f4a7c15 * (st.st_dev + 1);
  for (std::uint64_t factor : {0xbf58476d1ce4e5b9, 0x94d049bb133111eb}) {
    key ^= key >> 29;
    key *= factor;
  }
  key ^= key >> 32;
  return key | 1;
}

Slot& slot(std::uint64_t key, std::size_t probe) {
  return slots[((key >> 1) + probe) % kMaxFrameFiles];
}

}  // namespace

bool make_frame_files() {
  slots = static_cast<Slot*>(zeroed_pages(kMaxFrameFiles * sizeof(Slot)));
  return slots != nullptr;
}

void add_frame_file(int fd) {
  std::uint64_t key = key_of(fd);
  if (key == 0) return;
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    std::uint64_t found = 0;
    if (slot(key, probe).compare_exchange_strong(found, key) || found == key) return;
  }
  full.store(true, std::memory_order_relaxed);
}

bool is_frame_file(int fd) {
  std::uint64_t key = key_of(fd);
  for (std::size_t probe = 0; key != 0 && probe < kMaxProbes; ++probe) {
    std::uint64_t found = slot(key, probe).load(std::memory_order_relaxed);
    if (found == key) return true;
    if (found == 0) return false;
  }
  return false;
}

bool frame_files_are_full() {
  return full.load(std::memory_order_relaxed);
}

}  // namespace zazen::trace
