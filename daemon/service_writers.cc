// Frames that programs of this node have open for writing (D25). An open alone is no change:
// the copy is suspended until the last writer has closed the frame. Then the frame is compared
// with it, and the copy is served again, or dropped.
//
// A reader never gets a copy while a writer is known: the program that opens for writing goes
// on when the copy has lost its name. A copy gets its name back only while a lease says that
// nobody has the frame open or mapped for writing. Where leases do not tell, all writers that
// are known must have closed it, and the copy is young again: each open is checked for a while.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "daemon/log.h"
#include "daemon/origin.h"
#include "daemon/service.h"

namespace zazen {
namespace {

using News = WrittenFrame::News;
using Writers = ClosedFrame::Writers;

// Both are of this size, and on local disks or in memory.
bool same_content(int one, int other, std::uint64_t size) {
  constexpr std::size_t kPiece = 1 << 18;
  std::unique_ptr<char[]> left(new char[kPiece]), right(new char[kPiece]);
  for (std::uint64_t at = 0; at < size;) {
    ssize_t got = ::pread(one, left.get(), kPiece, static_cast<off_t>(at));
    if (got <= 0 || ::pread(other, right.get(), kPiece, static_cast<off_t>(at)) != got) {
      return false;
    }
    if (std::memcmp(left.get(), right.get(), static_cast<std::size_t>(got)) != 0) return false;
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

// The frame is what was copied, and stays it as long as nobody writes.
bool is_unchanged(const Store& store, const ClosedFrame& frame) {
  OriginIdentity identity = {};
  UniqueFd copy = store.open_copy(frame.dataset, frame.seq);
  if (!frame.is_there || frame.file < 0 || !copy.valid() ||
      read_identity(copy.get(), &identity) != 0 || !same_file(identity, frame.origin) ||
      hides_mappings(frame.file)) {
    return false;
  }
  return times_tell_changes(frame.file) ||
         same_content(frame.file, copy.get(), identity.size);
}

}  // namespace

// What is under way sees the mark, what is published loses its name, as in invalidate().
void Service::open_for_writing(const Asked& asked, std::uint32_t dataset, FrameSeq seq) {
  filler_.cancel(dataset, seq);
  int code = store_.suspend(dataset, seq);
  const bool is_suspended = code == 0;
  if (code == ENOENT) {
    young_.note(dataset, seq, monotonic_ms());
    code = 0;
  } else if (code != 0) {
    code = drop_changed(dataset, seq);
  }
  const bool push = config_.datasets[dataset].push && !config_.datasets[dataset].removed;
  if (!is_suspended && !push) return answer(asked, code);
  auto admitted = [=, this](int status) {
    if (status == 0) return answer(asked, code);
    // Nobody would tell when it is closed.
    answer(asked, is_suspended ? drop_changed(dataset, seq) : status);
  };
  written_.take({dataset, seq, asked.peer, admitted, News::kOpened});
}

// An earlier daemon has left them so: writers may be there still, or may have changed them.
void Service::watch_suspended(std::uint32_t dataset) {
  for (FrameSeq seq : store_.suspended(dataset)) watch(dataset, seq, own_user_);
}

void Service::watch(std::uint32_t dataset, FrameSeq seq, const Peer& client) {
  auto admitted = [this, dataset, seq](int status) {
    if (status != 0) drop_changed(dataset, seq);
  };
  written_.take({dataset, seq, client, admitted, News::kFound});
}

void Service::writers_gone(const ClosedFrame& frame) {
  if (frame.epoch != 0) settle_suspended(frame);
  const DatasetConfig& config = config_.datasets[frame.dataset];
  if (frame.is_there && frame.has_changed && config.push) {
    writer_.push(frame.dataset, frame.seq);
  }
}

void Service::settle_suspended(const ClosedFrame& frame) {
  const std::uint32_t dataset = frame.dataset;
  const FrameSeq seq = frame.seq;
  if (frame.writers == Writers::kPerhaps && !frame.is_last_word) return;
  if (store_.epoch(dataset, seq) != frame.epoch) return;  // somebody is waited for, or it is gone
  if (frame.writers == Writers::kPerhaps || !is_unchanged(store_, frame)) {
    drop_changed(dataset, seq);
    return;
  }
  if (frame.writers == Writers::kNobodyKnown) young_.note(dataset, seq, monotonic_ms());
  int code = store_.restore(dataset, seq, frame.epoch);
  if (code == EAGAIN) return;  // somebody has opened it again, and is waited for
  // A writer who has come meanwhile has not said so yet, or runs without the shim.
  const bool is_open = code == 0 && has_writer(frame.file);
  struct stat now = {};
  const bool is_same = code == 0 && ::fstat(frame.file, &now) == 0 &&
                       to_ns(now.st_ctim) == to_ns(frame.origin.st_ctim);
  if (is_open && is_same && store_.suspend(dataset, seq) == 0) {
    watch(dataset, seq, frame.client);
  } else if (is_open || !is_same) {
    drop_changed(dataset, seq);
  }
}

}  // namespace zazen
