// Frames that programs of this user have open for writing (D25). An open alone is no change:
// the copy is suspended until the last writer has closed the frame. Then the frame is compared
// with the copy, and the copy is served again or dropped.
//
// A reader never gets a copy while a writer is known, because the writer's open() waits until
// the copy has lost its name. A copy gets its name back only while a lease says that no program
// has the frame open or mapped for writing. Without leases all known writers must have closed
// it, and the copy is young again: each open is checked for a while.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <memory>

#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/clients/client_service.h"
#include "daemon/worker/origins/origin.h"

namespace zazen {
namespace {

using News = WrittenFrame::News;
using Writers = ClosedFrame::Writers;

// Longer frames are not read for a comparison, because others of the dataset wait meanwhile.
constexpr off_t kMostCompared = 64 << 20;

// Nothing if the file cannot be read to its end.
std::optional<std::uint64_t> checksum_of(int fd, std::uint64_t size) {
  constexpr std::size_t kPiece = 1 << 18;
  std::unique_ptr<char[]> piece(new char[kPiece]);
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> hash(
      XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); });
  XXH3_64bits_reset(hash.get());
  for (std::uint64_t at = 0; at < size;) {
    const ssize_t got = ::pread(fd, piece.get(), kPiece, static_cast<off_t>(at));
    if (got <= 0) return std::nullopt;
    XXH3_64bits_update(hash.get(), piece.get(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return XXH3_64bits_digest(hash.get());
}

}  // namespace

// 0 if the frame still has the copy's bytes, and keeps them while there is no writer; otherwise
// an errno. HDF5 puts a mark into each file that it opens for writing, and removes it again.
// Then only the times differ, and the copy gets the new ones.
int ClientService::compare_suspended(const ClosedFrame& frame) {
  const struct stat& now = frame.origin;
  if (!frame.is_there || frame.file < 0 || hides_mappings(frame.file)) return ESTALE;
  CopyState::Reply state;
  if (int code = link_.ask(CopyState{{frame.dataset, frame.seq}}, &state); code != 0)
    return code;
  if (state.status != 0) return state.status;
  const OriginIdentity& identity = state.identity;
  const bool same_times = same_file(identity, now);
  if (same_times && times_tell_changes(frame.file)) return 0;
  bool may_be_same = identity.ino == now.st_ino && identity.mode == now.st_mode &&
                     identity.uid == now.st_uid && identity.gid == now.st_gid &&
                     identity.size == static_cast<std::uint64_t>(now.st_size);
  if (!same_times && (frame.writers != Writers::kNobody || now.st_size > kMostCompared)) {
    may_be_same = false;
  }
  if (!may_be_same || checksum_of(frame.file, identity.size) != identity.checksum)
    return ESTALE;
  if (same_times) return 0;
  struct stat after = {};
  if (has_writer(frame.file)) return EAGAIN;
  if (::fstat(frame.file, &after) != 0 || to_ns(after.st_ctim) != to_ns(now.st_ctim)) {
    return ESTALE;
  }
  Renew renew;
  renew.dataset = frame.dataset;
  renew.seq = frame.seq;
  renew.epoch = frame.epoch;
  renew.origin.st = now;
  if (config_.all_users) renew.origin.acl = read_acl(frame.file);
  return link_.ask(renew);
}

int ClientService::drop_changed(std::uint32_t dataset, FrameSeq seq) {
  const int code = link_.ask(Changed{{dataset, seq}});
  if (config_.has_peers) changing_.take(dataset, seq);
  return code;
}

// A change that cannot be processed casts doubt on the dataset, as in client_service.cc.
void ClientService::take_news(const FrameEntry& news, std::function<void()> settled) {
  const std::uint32_t dataset = news.dataset, kinds = news.kinds;
  const FrameSeq seq = news.seq;
  if ((kinds & kNewsMissed) != 0) take_miss(news);
  if (kinds == kNewsMissed) return;
  if (dataset >= config_.datasets.size()) {  // a reload is adding it
    return doubts_.cast(dataset, Doubts::Why::kLost, std::move(settled));
  }
  const DatasetConfig& config = config_.datasets[dataset];
  if ((kinds & kNewsWritten) != 0 && config.push && !config.removed) {
    written_.take({dataset, seq, nullptr});
  }
  if ((kinds & kNewsCopyRemoved) != 0) link_.tell(Changed{{dataset, seq}, false, true});
  if ((kinds & (kNewsChanged | kNewsAwaited)) == 0) return;
  auto work = [this, news, settled] {
    if (despite_shortage([&] { take_change(news, settled); })) return;
    until_no_shortage([&] { doubts_.cast(news.dataset, Doubts::Why::kLost, settled); });
  };
  if (changes_.post(dataset, work)) return;
  doubts_.cast(dataset, Doubts::Why::kLost, std::move(settled));
}

// The fill opens the frame by its name, with this user's rights, when it starts.
void ClientService::take_miss(const FrameEntry& news) {
  if (news.file == 0 || news.dataset >= config_.datasets.size() ||
      config_.datasets[news.dataset].removed) {
    return;
  }
  FillRequest fill;
  fill.dataset = news.dataset;
  fill.seq = news.seq;
  fill.file = news.file;
  despite_shortage([&] { filler_.submit(fill); });
}

void ClientService::take_change(const FrameEntry& news, const std::function<void()>& settled) {
  const std::uint32_t dataset = news.dataset;
  const bool may_change = may_change_frame(dataset, name_of(dataset, news.seq));
  if (may_change && (news.kinds & kNewsOpened) != 0) {
    return open_for_writing(dataset, news.seq, [settled](int) { settled(); });
  }
  if (may_change && config_.has_peers) changing_.take(dataset, news.seq);
  if ((news.kinds & kNewsAwaited) == 0) return;
  may_change ? link_.ask(Changed{{dataset, news.seq}})
             : link_.ask(Check{{dataset, news.seq}, true});
  settled();
}

// If this node's copy has the version of the origin, the peers are told only of later versions.
void ClientService::open_for_writing(std::uint32_t dataset, FrameSeq seq,
                                     const std::function<void(int)>& done) {
  Suspend::Reply copy;
  const int code = link_.ask(Suspend{{dataset, seq}}, &copy);
  if (config_.has_peers) {
    std::optional<FrameVersion> known;
    if (copy.has_copy) known = FrameVersion{false, copy.size, copy.mtime_ns, copy.ctime_ns};
    changing_.take(dataset, seq, known);
  }
  const bool push = is_pushed(dataset, seq);
  if (!copy.is_suspended && !push) return done(code);
  auto admitted = [=, this](int status) {
    if (status == 0) return done(code);
    // A close would not be noticed, so the frame is looked at as one that was written.
    if (push) written_.take({dataset, seq, nullptr});
    done(copy.is_suspended ? drop_changed(dataset, seq) : status);
  };
  written_.take({dataset, seq, admitted, News::kOpened});
}

void ClientService::watch_writers(std::uint32_t dataset, FrameSeq seq,
                                  std::function<void(int)> done) {
  written_.take({dataset, seq, std::move(done), News::kFound});
}

void ClientService::watch(std::uint32_t dataset, FrameSeq seq) {
  auto admitted = [this, dataset, seq](int status) {
    if (status != 0) drop_changed(dataset, seq);
  };
  written_.take({dataset, seq, admitted, News::kFound});
}

void ClientService::writers_gone(const ClosedFrame& frame) {
  if (frame.epoch != 0) {
    settle_suspended(frame);
  } else if (frame.has_changed) {
    // The frame was pushed while a program had it open, perhaps before the last write.
    link_.ask(Check{{frame.dataset, frame.seq}});
  }
  if (!frame.is_there || !frame.has_changed || !is_pushed(frame.dataset, frame.seq)) return;
  learn_push_key();
  writer_.push(frame.dataset, frame.seq);
}

void ClientService::learn_push_key() {
  if (has_push_key_.exchange(true)) return;
  PushKeyAsk::Reply reply;
  const int code = link_.ask(PushKeyAsk{}, &reply);
  if (code == 0) {
    keys_->renew(Credentials{reply.key, reply.has_munge, reply.old_keys});
  } else {
    keys_->renew(Error{code, "zazend gives no key", {}});
  }
}

void ClientService::settle_suspended(const ClosedFrame& frame) {
  const std::uint32_t dataset = frame.dataset;
  const FrameSeq seq = frame.seq;
  if (frame.writers == Writers::kPerhaps && !frame.is_last_word) return;
  CopyState::Reply state;
  if (link_.ask(CopyState{{dataset, seq}}, &state) != 0) return;
  if (state.epoch != frame.epoch) return;  // there is another writer, or the copy is gone
  int code = frame.writers == Writers::kPerhaps ? ESTALE : compare_suspended(frame);
  if (code == EAGAIN) return watch(dataset, seq);  // a program has opened it again
  if (code != 0) {
    drop_changed(dataset, seq);
    return;
  }
  const bool is_young = frame.writers == Writers::kNobodyKnown;
  code = link_.ask(Restore{{dataset, seq}, frame.epoch, is_young});
  if (code == EAGAIN) return;  // a program has opened it again, and is watched
  // A later writer has not reported yet, or runs without the shim.
  const bool is_open = code == 0 && has_writer(frame.file);
  struct stat now = {};
  const bool is_same = code == 0 && ::fstat(frame.file, &now) == 0 &&
                       to_ns(now.st_ctim) == to_ns(frame.origin.st_ctim);
  Suspend::Reply again;
  if (is_open && is_same && link_.ask(Suspend{{dataset, seq}}, &again) == 0 &&
      again.is_suspended) {
    watch(dataset, seq);
  } else if (is_open || !is_same) {
    drop_changed(dataset, seq);
  }
}

}  // namespace zazen
