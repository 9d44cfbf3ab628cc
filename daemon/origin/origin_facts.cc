#include "daemon/origin/origin_facts.h"

namespace zazen {
namespace {

bool is_time(const timespec& time) {
  constexpr std::int64_t kLatest = 9'000'000'000;  // seconds
  return time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000 && time.tv_sec >= -kLatest &&
         time.tv_sec <= kLatest;
}

}  // namespace

bool is_frame(const struct stat& st) {
  return S_ISREG(st.st_mode) && st.st_size >= 0 && st.st_blocks >= 0 && st.st_ino != 0 &&
         is_time(st.st_atim) && is_time(st.st_mtim) && is_time(st.st_ctim);
}

}  // namespace zazen
