// NewsReader: reads what the programs of this worker's user tell of frames
// (bodhi/lean/frames/program_news.h), on a thread of its own.
//
// The user can truncate the file that is mapped for it. That ends this worker and the user's
// own programs, and nobody else's.
//
// begin() and leave() are thread safe. It is never destroyed.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "bodhi/lean/frames/table.h"

namespace zazen {

class NewsTaker {
 public:
  virtual ~NewsTaker() = default;
  // `settled` is to be called when an entry for which a program waits is dealt with; otherwise
  // it is empty.
  virtual void take_news(const FrameEntry& news, std::function<void()> settled) = 0;
};

class NewsReader {
 public:
  NewsReader(std::string runtime, std::uint64_t reader, NewsTaker& taker)
      : runtime_(std::move(runtime)), reader_(reader), taker_(taker) {}

  // Reads from now on, unless there is no file or another worker of this user does.
  void begin();
  // Programs see that nobody reads. False: some have told something meanwhile, which is taken.
  bool leave();
  // Of changes: the program may tell of the next one in minutes.
  bool has_read() const { return has_read_; }

 private:
  void run();
  std::size_t take_all();

  const std::string runtime_;
  const std::uint64_t reader_;
  NewsTaker& taker_;
  std::mutex mutex_;
  Counters* counters_ = nullptr;
  bool has_thread_ = false;
  std::atomic<bool> has_read_ = false;
};

}  // namespace zazen
