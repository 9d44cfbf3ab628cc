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

// More is not read only to keep a copy: others of the dataset wait meanwhile.
constexpr off_t kMostCompared = 64 << 20;

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

// The frame has the bytes that were copied, and keeps them as long as nobody writes. HDF5 puts a
// mark into each file that it opens for writing, and takes it away again: then only the times
// are others, and the copy gets them. 0, or why not.
int compare_suspended(Store& store, const ClosedFrame& frame) {
  OriginIdentity identity = {};
  UniqueFd copy = store.open_copy(frame.dataset, frame.seq);
  const struct stat& now = frame.origin;
  if (!frame.is_there || frame.file < 0 || hides_mappings(frame.file)) return ESTALE;
  if (!copy.valid()) return errno;
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  const bool same_times = same_file(identity, now);
  if (same_times && times_tell_changes(frame.file)) return 0;
  bool may_be_same = identity.ino == now.st_ino && identity.mode == now.st_mode &&
                     identity.uid == now.st_uid && identity.gid == now.st_gid &&
                     identity.size == static_cast<std::uint64_t>(now.st_size);
  if (!same_times && (frame.writers != Writers::kNobody || now.st_size > kMostCompared)) {
    may_be_same = false;
  }
  if (!may_be_same || !same_content(frame.file, copy.get(), identity.size)) return ESTALE;
  if (same_times) return 0;
  struct stat after = {};
  if (has_writer(frame.file)) return EAGAIN;
  if (::fstat(frame.file, &after) != 0 || to_ns(after.st_ctim) != to_ns(now.st_ctim)) {
    return ESTALE;
  }
  AccessList readers = AccessList::nobody();
  if (store.serves_all_users()) {
    readers = AccessList::of(now, read_acl(frame.file), Right::kRead);
  }
  return store.renew(frame.dataset, frame.seq, frame.epoch, std::move(copy), now, readers);
}

}  // namespace

// A fill that is under way sees the mark, and a published copy loses its name, as in invalidate().
void Service::open_for_writing(const Asked& asked, std::uint32_t dataset, FrameSeq seq) {
  changes_.opened(dataset, seq, asked.peer);
  filler_.cancel(dataset, seq);
  int code = store_.suspend(dataset, seq);
  const bool is_suspended = code == 0;
  if (code == ENOENT) {
    young_.note(dataset, seq, monotonic_ms());
    code = 0;
  } else if (code != 0) {
    code = drop_changed(dataset, seq, asked.peer);
  }
  const bool push = config_.datasets[dataset].push && !config_.datasets[dataset].removed;
  if (!is_suspended && !push) return answer(asked, code);
  auto admitted = [=, this](int status) {
    if (status == 0) return answer(asked, code);
    // Nobody would tell when it is closed.
    answer(asked, is_suspended ? drop_changed(dataset, seq, asked.peer) : status);
  };
  written_.take({dataset, seq, asked.peer, admitted, News::kOpened});
}

// An earlier daemon has left them so: writers may be there still, or may have changed them.
void Service::watch_suspended(std::uint32_t dataset) {
  for (FrameSeq seq : store_.suspended(dataset)) watch(dataset, seq, own_user_);
}

void Service::watch(std::uint32_t dataset, FrameSeq seq, const Peer& client) {
  auto admitted = [this, dataset, seq, client](int status) {
    if (status != 0) drop_changed(dataset, seq, client);
  };
  written_.take({dataset, seq, client, admitted, News::kFound});
}

void Service::writers_gone(const ClosedFrame& frame) {
  if (frame.epoch != 0) {
    settle_suspended(frame);
  } else if (frame.has_changed && store_.find(frame.dataset, frame.seq)) {
    // It was pushed while somebody had it open, and perhaps before the last write.
    settle(frame.dataset, compare_frames(store_, frame.dataset, {frame.seq}, 1));
  }
  const DatasetConfig& config = config_.datasets[frame.dataset];
  if (frame.is_there && frame.has_changed && config.push) {
    writer_.push(frame.dataset, frame.seq, frame.client);
  }
}

void Service::settle_suspended(const ClosedFrame& frame) {
  const std::uint32_t dataset = frame.dataset;
  const FrameSeq seq = frame.seq;
  if (frame.writers == Writers::kPerhaps && !frame.is_last_word) return;
  if (store_.epoch(dataset, seq) != frame.epoch) return;  // somebody is waited for, or it is gone
  int code = frame.writers == Writers::kPerhaps ? ESTALE : compare_suspended(store_, frame);
  if (code == EAGAIN) return watch(dataset, seq, frame.client);  // somebody has opened it again
  if (code != 0) {
    drop_changed(dataset, seq, frame.client);
    return;
  }
  if (frame.writers == Writers::kNobodyKnown) young_.note(dataset, seq, monotonic_ms());
  code = store_.restore(dataset, seq, frame.epoch);
  if (code == EAGAIN) return;  // somebody has opened it again, and is waited for
  // A writer who has come meanwhile has not said so yet, or runs without the shim.
  const bool is_open = code == 0 && has_writer(frame.file);
  struct stat now = {};
  const bool is_same = code == 0 && ::fstat(frame.file, &now) == 0 &&
                       to_ns(now.st_ctim) == to_ns(frame.origin.st_ctim);
  if (is_open && is_same && store_.suspend(dataset, seq) == 0) {
    watch(dataset, seq, frame.client);
  } else if (is_open || !is_same) {
    drop_changed(dataset, seq, frame.client);
  }
}

}  // namespace zazen
