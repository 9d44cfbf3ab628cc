#include "daemon/worker/push/incoming_frame.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace zazen {
namespace {

constexpr std::uint64_t kHandOnBytes = 4 << 20;

}  // namespace

IncomingFrame::~IncomingFrame() {
  file_.reset();
  if (ticket_ == 0) return;
  const bool is_unused = written_ == 0 && kept_.empty();
  desk_.abandon(ticket_, failure_ != 0 ? failure_ : is_unused ? 0 : ECANCELED);
}

bool IncomingFrame::take_file(int status, std::uint64_t ticket, UniqueFd file) {
  refusal_ = status;
  ticket_ = ticket;
  file_ = std::move(file);
  has_answer_ = true;
  has_answer_.notify_one();
  return is_complete_;
}

int IncomingFrame::keep_or_write(const char* bytes, std::size_t size) {
  if (has_answer_) return write(bytes, size);
  kept_.append(bytes, size);
  return 0;
}

int IncomingFrame::write(const char* bytes, std::size_t size) {
  if (!has_answer_) desk_.flush();
  has_answer_.wait(false);
  if (refusal_ != 0) return refusal_;
  const std::string kept = std::exchange(kept_, {});
  if (int code = write_to_file(kept.data(), kept.size()); code != 0) return code;
  return write_to_file(bytes, size);
}

int IncomingFrame::write_to_file(const char* bytes, std::size_t size) {
  while (size > 0) {
    ssize_t done = ::pwrite(file_.get(), bytes, size, static_cast<off_t>(written_));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_ = errno;
    bytes += done;
    size -= static_cast<std::size_t>(done);
    written_ += static_cast<std::uint64_t>(done);
  }
  if (written_ - handed_on_ < kHandOnBytes) return 0;
  const std::uint64_t first = std::exchange(handed_on_, written_);
  // Nobody waits; where the disk cannot be told so, the flush does it all.
  if (::sync_file_range(file_.get(), static_cast<off_t>(first),
                        static_cast<off_t>(written_ - first), SYNC_FILE_RANGE_WRITE) == 0 ||
      errno == EPERM || errno == EINVAL || errno == ENOSYS) {
    return 0;
  }
  return failure_ = errno;
}

void IncomingFrame::finish(FrameSeq seq, std::uint64_t checksum, PushDesk::Finished done) {
  if (int code = write(nullptr, 0); code != 0) return done(code);
  file_.reset();
  desk_.finish(dataset_, {ticket_, seq, written_, checksum}, std::move(done));
  ticket_ = 0;
}

}  // namespace zazen
