// ProgramNews: frames that programs have changed or missed, for the worker of their user to
// look at. A program adds one without a message, a descriptor, or waiting; it waits only for a
// copy that it cannot remove or suspend itself.
//
// The news lie in the file in which the programs of one user count (table.h). Only that user's
// programs and worker trust them. It is a set, not a queue: an entry says "look at this frame",
// and the worker sees the frame as it is then. An entry is one word, added by one
// compare-and-swap, so no process that is killed or stopped leaves half of one.
//
// A miss has a second word: the mark of the file that the program has opened. A program in
// another mount namespace may find another file by the same name, so the worker copies no file
// with another mark. The two words are not written at once. If two programs meet at a place, a
// miss may get the mark of another one; then its frame is not copied before the next miss.
//
// The worker looks for entries every few milliseconds while some come. Otherwise it sleeps and
// says so, and a program wakes it. A program that waits wakes it in any case. Lean.
#pragma once
#include <atomic>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

enum NewsKind : std::uint32_t {  // bits
  kNewsChanged = 1,              // the peers are to hear of it
  kNewsCopyRemoved = 2,          // the program has removed the copy itself
  kNewsWritten = 4,              // it is pushed when it is closed
  kNewsDrop = 8,                 // its copy is to go, and the program waits for that
  kNewsMissed = 16,              // a program has opened it at the origin; alone
  kNewsOpened = 32,              // for writing (D25); alone. Each open has an entry of its own
  kNewsTaken = 128,              // of kNewsAwaited: the reader deals with it
};
inline constexpr std::uint32_t kNewsAwaited = kNewsDrop | kNewsOpened;

struct FrameEntry {
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  std::uint32_t kinds = 0;
  std::uint64_t file = 0;  // of kNewsMissed: file_mark()
  bool operator==(const FrameEntry&) const = default;
};

using NewsWord = std::atomic<std::uint64_t>;  // an entry, or 0

struct ProgramNews {
  static constexpr std::size_t kRoom = 4096;

  enum Sleep : std::uint32_t { kAwake = 0, kAsleep = 1, kCalled = 2 };

  std::atomic<std::uint64_t> reader;   // 0: none; otherwise for whom, see below
  std::atomic<std::uint32_t> sleep;    // a futex: the reader's
  std::atomic<std::uint32_t> settled;  // a futex: grows when a kNewsAwaited is dealt with
  NewsWord entries[kRoom];
  NewsWord files[kRoom];  // the marks of those that were missed
};

// The reader takes the news of every program that can write here, or of those with the same
// effective user and groups: a worker with other groups might not reach the frame.
inline constexpr std::uint64_t kReadsForAll = 1;
std::uint64_t own_reader();  // of this process's credentials; 0: its groups are too many

// Of the file with this device and inode; never 0.
std::uint64_t file_mark(std::uint32_t device_major, std::uint32_t device_minor,
                        std::uint64_t inode);

// Adds the entry, unless it is there. False: nobody reads, there is no room, or the reader has
// left meanwhile and may have missed it.
bool add_news(ProgramNews& news, const FrameEntry& entry);

// Adds a kNewsAwaited, and calls the reader. Null: as above, but for a reader that has left.
const NewsWord* ask_by_news(ProgramNews& news, const FrameEntry& entry);
// Waits until the reader has dealt with it. False: nobody reads, or it has taken longer than
// the limit.
bool await_reader(const ProgramNews& news, const FrameEntry& entry, const NewsWord* place,
                  int limit_ms);

// ---- For the reader

// False: another one reads. Entries that an earlier reader left half done are there again.
bool begin_reading(ProgramNews& news, std::uint64_t reader);
// Waits until a reader is called, for at most so long; with `any`, until any entry is added.
void await_news(ProgramNews& news, int limit_ms, bool any);
// Takes all entries out, in any order, and calls take(FrameEntry, NewsWord*) for each; how
// many. The word is null, but for a kNewsAwaited, which stays until settle_news().
template <class Take>
std::size_t take_news(ProgramNews& news, Take take);
void settle_news(ProgramNews& news, const FrameEntry& entry, NewsWord* word);

// Never 0. Frame numbers above kMostSeq do not fit.
inline constexpr FrameSeq kMostSeq = (FrameSeq{1} << 48) - 1;
inline std::uint64_t pack_entry(const FrameEntry& entry) {
  return entry.seq << 16 | std::uint64_t{entry.dataset & 0xff} << 8 | (entry.kinds & 0xff);
}
inline FrameEntry unpack_entry(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 8 & 0xff), word >> 16,
          static_cast<std::uint32_t>(word & 0xff), 0};
}
static_assert(kMaxDatasets <= 256);

template <class Take>
std::size_t take_news(ProgramNews& news, Take take) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < ProgramNews::kRoom; ++i) {
    NewsWord& place = news.entries[i];
    std::uint64_t word = place.load();
    if (word == 0 || (word & kNewsTaken) != 0) continue;
    FrameEntry entry = unpack_entry(word);
    if ((word & kNewsMissed) != 0) entry.file = news.files[i].load();
    const bool is_awaited = (word & kNewsAwaited) != 0;
    if (!place.compare_exchange_strong(word, is_awaited ? word | kNewsTaken : 0)) continue;
    take(entry, is_awaited ? &place : nullptr);
    ++taken;
  }
  return taken;
}

}  // namespace zazen
