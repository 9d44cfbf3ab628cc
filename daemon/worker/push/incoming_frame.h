// IncomingFrame: the content of one frame on its way from the network into a file of the cache
// that has no name yet. zazend reserves the room, the disk gives it, and then comes the file:
// what comes before it may be kept in memory. The disk begins to write while the rest still
// comes, so a large frame does not delay those who read others from it all at once.
//
// take_file() may be called on another thread than the rest.
#pragma once
#include <atomic>

#include "daemon/worker/push/push_session.h"

namespace zazen {

class IncomingFrame {
 public:
  IncomingFrame(PushDesk& desk, std::uint32_t dataset) : desk_(desk), dataset_(dataset) {}
  ~IncomingFrame();

  // zazend's answer, once. True: the content is complete, and has waited for it.
  bool take_file(int status, std::uint64_t ticket, UniqueFd file);
  bool has_answer() const { return has_answer_; }
  bool is_refused() const { return has_answer_ && refusal_ != 0; }

  // Each waits for the answer, unless it says otherwise, and returns 0 or an errno.
  int write(const char* bytes, std::size_t size);
  // Does not wait.
  int keep_or_write(const char* bytes, std::size_t size);
  std::size_t kept() const { return kept_.size(); }

  // All is there. finish() waits, and tells `done` as in PushDesk.
  void note_complete() { is_complete_ = true; }
  void finish(FrameSeq seq, std::uint64_t checksum, PushDesk::Finished done);

 private:
  int write_to_file(const char* bytes, std::size_t size);

  PushDesk& desk_;
  const std::uint32_t dataset_;
  std::atomic<bool> has_answer_ = false, is_complete_ = false;
  int refusal_ = 0;
  std::uint64_t ticket_ = 0;
  UniqueFd file_;
  std::string kept_;  // comes before all that is written later
  int failure_ = 0;
  std::uint64_t written_ = 0, handed_on_ = 0;  // to the kernel, and by it to the disk
};

}  // namespace zazen
