#include "bodhi/lean/frames/program_news.h"

#include <linux/futex.h>
#include <time.h>

#include <climits>

#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::size_t kTries = 16;
constexpr std::size_t kMostGroups = 256;

std::uint64_t mix(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
  return sum ^ sum >> 32;
}

bool is_read_for_us(const ProgramNews& news) {
  const std::uint64_t reader = news.reader.load();
  return reader == kReadsForAll || (reader != 0 && reader == own_reader());
}

// Other processes share the word, so it is no private futex.
void wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, int limit_ms) {
  const struct timespec limit = {limit_ms / 1000, limit_ms % 1000 * 1'000'000L};
  raw_call(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake(const std::atomic<std::uint32_t>& word) {
  raw_call(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The place of the entry; null if there is no room.
NewsWord* put(ProgramNews& news, const FrameEntry& entry) {
  const std::uint64_t word = pack_entry(entry);
  const std::size_t first = mix(0, word) % ProgramNews::kRoom;
  for (std::size_t i = 0; i < kTries; ++i) {
    const std::size_t at = (first + i) % ProgramNews::kRoom;
    NewsWord& place = news.entries[at];
    std::uint64_t there = 0;
    if (entry.file != 0 && place.load() == 0) news.files[at].store(entry.file);
    if (place.compare_exchange_strong(there, word)) return &place;
    // The reader takes one that is there later than now, and then looks at the frame. Opens are
    // counted.
    if (there == word && (entry.kinds & kNewsOpened) == 0) return &place;
  }
  return nullptr;
}

NewsWord* add(ProgramNews& news, const FrameEntry& entry) {
  return entry.seq <= kMostSeq && is_read_for_us(news) ? put(news, entry) : nullptr;
}

}  // namespace

std::uint64_t own_reader() {
  gid_t groups[kMostGroups];
  const auto user = static_cast<uid_t>(raw_call(SYS_geteuid));
  std::uint64_t sum = mix(1, user);
  if (user != 0) {  // root reaches every frame
    const long count = raw_call(SYS_getgroups, kMostGroups, groups);
    if (count < 0) return 0;
    sum = mix(sum, static_cast<std::uint64_t>(raw_call(SYS_getegid)));
    for (long i = 0; i < count; ++i) sum = mix(sum, groups[i]);  // the kernel sorts them
  }
  return sum <= kReadsForAll ? kReadsForAll + 1 : sum;
}

std::uint64_t file_mark(std::uint32_t device_major, std::uint32_t device_minor,
                        std::uint64_t inode) {
  return mix(mix(1, std::uint64_t{device_major} << 32 | device_minor), inode) | 1;
}

bool add_news(ProgramNews& news, const FrameEntry& entry) {
  if (add(news, entry) == nullptr) return false;
  std::uint32_t asleep = ProgramNews::kAsleep;
  if (news.sleep.load() == asleep &&
      news.sleep.compare_exchange_strong(asleep, ProgramNews::kAwake)) {
    wake(news.sleep);
  }
  return news.reader.load() != 0;
}

const NewsWord* ask_by_news(ProgramNews& news, const FrameEntry& entry) {
  const NewsWord* place = add(news, entry);
  if (place == nullptr) return nullptr;
  news.sleep.store(ProgramNews::kCalled);
  wake(news.sleep);
  return place;
}

bool await_reader(const ProgramNews& news, const FrameEntry& entry, const NewsWord* place,
                  int limit_ms) {
  constexpr int kLookMs = 50;  // whether somebody still reads
  const std::uint64_t word = pack_entry(entry), taken = word | kNewsTaken;
  const std::int64_t until_ms = monotonic_ms() + limit_ms;
  for (;;) {
    const std::uint32_t settled = news.settled.load();
    const std::uint64_t now = place->load();
    if (now != word && now != taken) return true;
    if (news.reader.load() == 0 || monotonic_ms() >= until_ms) return false;
    wait(news.settled, settled, kLookMs);
  }
}

bool begin_reading(ProgramNews& news, std::uint64_t reader) {
  std::uint64_t nobody = 0;
  if (!news.reader.compare_exchange_strong(nobody, reader)) return false;
  for (NewsWord& place : news.entries) place.fetch_and(~std::uint64_t{kNewsTaken});
  return true;
}

void await_news(ProgramNews& news, int limit_ms, bool any) {
  std::uint32_t awake = ProgramNews::kAwake;
  const bool sleeps = any && news.sleep.compare_exchange_strong(awake, ProgramNews::kAsleep);
  bool is_new = any && !sleeps;  // called
  for (const NewsWord& place : news.entries) {
    const std::uint64_t word = sleeps ? place.load() : 0;
    is_new = is_new || (word != 0 && (word & kNewsTaken) == 0);
  }
  if (!is_new) wait(news.sleep, sleeps ? ProgramNews::kAsleep : ProgramNews::kAwake, limit_ms);
  news.sleep.store(ProgramNews::kAwake);  // before the reader looks
}

void settle_news(ProgramNews& news, const FrameEntry& entry, NewsWord* word) {
  std::uint64_t taken = pack_entry(entry) | kNewsTaken;
  word->compare_exchange_strong(taken, 0);
  news.settled.fetch_add(1);
  wake(news.settled);
}

}  // namespace zazen
