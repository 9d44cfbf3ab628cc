#include "daemon/service/store_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/disk/copy_seal.h"
#include "daemon/origin/adoption.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

bool is_fill(const BeginFill& offer) {
  const bool is_known = offer.kind == FrameKind::kAlien || offer.kind == FrameKind::kNative;
  return is_known && is_frame(offer.origin.st) &&
         (!offer.is_content || offer.kind == FrameKind::kNative);
}

// If the origin has a frame it is a file, and this very content is as long as it.
bool is_look_at(const ReceivedContent& content, const OriginLook& look) {
  if (look.is_there && !is_frame(look.origin.st)) return false;
  return look.status != 0 ||
         (look.is_there && static_cast<std::uint64_t>(look.origin.st.st_size) == content.bytes);
}

Wanted wanted_by(const BeginFill& offer) {
  return offer.is_idle ? Wanted::kLater : Wanted::kNow;
}

}  // namespace

StoreCache::StoreCache(Store& store, Trust& trust, OriginChecks& origins,
                       std::chrono::milliseconds others_wait)
    : store_(store),
      trust_(trust),
      origins_(origins),
      others_wait_(others_wait),
      committer_(store, origins) {}

// ---- Fills

void StoreCache::begin_fill(WorkerId worker, BeginFill offer, Begun done) {
  {
    std::lock_guard lock(mutex_);
    held_.try_emplace(worker);
  }
  begin_known(worker, std::move(offer), std::move(done));
}

// A flight that this one has to wait for, or that keeps it from beginning.
StoreCache::FlightPointer StoreCache::other_flight(const Flight& wanted, Holder& holder) const {
  const auto [first, last] = in_flight_.equal_range({wanted.offer.dataset, wanted.offer.seq});
  const auto own =
      std::find_if(first, last, [&](auto& one) { return one.second->worker == wanted.worker; });
  if (own != last) return own->second;
  // A push whose writer may have its answer already: no fill replaces it.
  const auto pushed =
      std::find_if(first, last, [](auto& one) { return one.second->is_pushed(); });
  if (pushed != last) return pushed->second;
  if (first == last || wanted.offer.waits) return nullptr;
  const bool is_late = wanted.begun - first->second->begun > others_wait_;  // the oldest
  return is_late || is_refused_for_long(wanted, holder) ? nullptr : first->second;
}

bool StoreCache::is_refused_for_long(const Flight& wanted, Holder& holder) const {
  const Key key(wanted.offer.dataset, wanted.offer.seq);
  if (holder.refused.size() >= kMostRefused) {
    std::erase_if(holder.refused, [&](const auto& one) {
      return wanted.begun - one.second > 2 * others_wait_;
    });
  }
  if (holder.refused.size() >= kMostRefused) holder.refused.clear();
  return wanted.begun - holder.refused.try_emplace(key, wanted.begun).first->second >
         others_wait_;
}

void StoreCache::begin_known(WorkerId worker, BeginFill offer, Begun done) {
  auto flight = std::make_shared<Flight>();
  flight->worker = worker;
  flight->offer = std::move(offer);
  const BeginFill& wanted = flight->offer;
  BeginFill::Reply reply;
  int status = is_fill(wanted) ? 0 : EINVAL;
  if (status == 0) {
    std::unique_lock lock(mutex_);
    const Key key(wanted.dataset, wanted.seq);
    auto held = held_.find(worker);
    const bool is_known = held != held_.end();
    const FlightPointer other = is_known ? other_flight(*flight, held->second) : nullptr;
    if (!is_known) {
      status = ECANCELED;  // the worker has ended
    } else if (other && wanted.waits) {
      other->followers.push_back([this, worker, flight, done = std::move(done)] {
        if (!despite_shortage([&] { begin_known(worker, flight->offer, done); })) {
          done(ENOMEM, {});
        }
      });
      return;
    } else if (other) {
      status = EALREADY;
    } else if (held->second.tickets >= kMostTickets) {
      status = EAGAIN;
    } else {
      flight->pending = PendingCopies::Mark(store_.pending(), wanted.dataset, wanted.seq);
      const auto place = in_flight_.emplace(key, flight);
      try {
        reply.ticket = add_ticket(flight, held->second);
      } catch (const std::bad_alloc&) {
        in_flight_.erase(place);
        throw;
      }
      held->second.refused.erase(key);
    }
  }
  if (status == 0) status = take_off(flight, reply.ticket, &reply.file);
  if (status == kThere) return done(0, {});
  status == 0 ? done(0, std::move(reply)) : done(status, {});
}

int StoreCache::begin_pushes(WorkerId worker, const BeginPushes& wanted,
                             BeginPushes::Reply* reply) {
  BeginFill offer;
  offer.dataset = wanted.dataset;
  offer.kind = FrameKind::kNative;
  offer.is_content = true;
  struct stat& content = offer.origin.st;
  content.st_mode = S_IFREG;
  content.st_ino = 1;
  content.st_size = static_cast<off_t>(wanted.bytes);
  content.st_blocks = static_cast<blkcnt_t>(wanted.bytes / 512 + 1);
  reply->status = is_fill(offer) && wanted.count <= BeginPushes::kMost ? 0 : EINVAL;
  for (std::uint32_t i = 0; reply->status == 0 && i < wanted.count; ++i) {
    std::uint64_t ticket = 0;
    UniqueFd file;
    reply->status = ENOMEM;
    despite_shortage([&] {
      reply->tickets.reserve(wanted.count);
      reply->files.reserve(wanted.count);
      auto flight = std::make_shared<Flight>();
      flight->worker = worker;
      flight->offer = offer;
      {
        std::lock_guard lock(mutex_);
        Holder& holder = held_[worker];
        reply->status = holder.tickets < kMostTickets ? 0 : EAGAIN;
        if (reply->status == 0) ticket = add_ticket(flight, holder);
      }
      if (reply->status == 0) reply->status = take_off(flight, ticket, &file);
    });
    if (reply->status != 0) break;
    reply->tickets.push_back(ticket);
    reply->files.push_back(std::move(file));
  }
  return reply->tickets.empty() ? reply->status : 0;
}

std::uint64_t StoreCache::add_ticket(const FlightPointer& flight, Holder& holder) {
  tickets_.emplace(next_ticket_, flight);
  ++holder.tickets;
  ++under_way_;
  return next_ticket_++;
}

int StoreCache::take_off(const FlightPointer& flight, std::uint64_t ticket, UniqueFd* file) {
  const BeginFill& offer = flight->offer;
  int status = code_despite_shortage([&] {
    if (int code = prepare(*flight); code != 0) return code;
    file->reset(::fcntl(flight->file.fd(), F_DUPFD_CLOEXEC, 0));
    return file->valid() ? 0 : errno;
  });
  const bool is_wanted = release(ticket, *flight);
  if (status == 0 && is_wanted) return 0;
  if (status == 0) status = ECANCELED;
  file->reset();
  FlightPointer taken = is_wanted ? take(flight->worker, ticket) : flight;
  if (!taken) return ECANCELED;
  // A native that waits is not a failure: the worker looks closer.
  const int outcome = status == kThere ? 0 : status;
  if (outcome != EINPROGRESS) count(offer.dataset, offer.seq, offer.kind, outcome, 0, false);
  land(taken, outcome, false, nullptr);
  return status;
}

bool StoreCache::release(std::uint64_t ticket, Flight& flight) {
  std::lock_guard lock(mutex_);
  flight.is_busy = false;
  flight.is_open = held_.contains(flight.worker);
  if (!flight.is_open) tickets_.erase(ticket);
  return flight.is_open;
}

int StoreCache::prepare(Flight& flight) {
  const BeginFill& offer = flight.offer;
  if (offer.is_content) return make_file(flight);
  if (store_.is_waiting(offer.dataset, offer.seq)) {
    if (!offer.replaces) return EINPROGRESS;
    store_.drop(offer.dataset, std::span(&offer.seq, 1));
  }
  // It is compared when the last writer has closed the frame.
  if (offer.kind == FrameKind::kAlien && store_.is_suspended(offer.dataset, offer.seq)) {
    return EBUSY;
  }
  bool is_there = false;
  int code = consider_held(offer, &is_there);
  if (is_there) return code == 0 ? kThere : code;
  if (store_.directory_is_full(offer.dataset)) return EMLINK;
  return make_file(flight);
}

// A copy of this very file is there already. One of another file goes.
int StoreCache::consider_held(const BeginFill& offer, bool* is_there) {
  std::optional<HeldFrame> held = store_.find(offer.dataset, offer.seq);
  if (!held) return 0;
  OriginIdentity copy = {};
  if (store_.read_copy_identity(offer.dataset, offer.seq, &copy) == 0 &&
      same_file(copy, offer.origin.st)) {
    bool promote = offer.kind == FrameKind::kNative && held->kind == FrameKind::kAlien;
    int code = promote ? store_.promote(offer.dataset, offer.seq) : 0;
    *is_there = code != ENOENT;  // or it was evicted just now
    return code;
  }
  store_.drop(offer.dataset, std::span(&offer.seq, 1));
  return 0;
}

int StoreCache::make_file(Flight& flight) {
  const BeginFill& offer = flight.offer;
  const struct stat& origin = offer.origin.st;
  const std::uint64_t needed = room_of(origin);
  const Wanted wanted = wanted_by(offer);
  // Nobody knows yet whose frame content will be that the origin does not have.
  const uid_t owner = offer.is_content ? kNoUser : origin.st_uid;
  flight.room = store_.reserve(offer.dataset, offer.kind, needed, wanted, owner);
  if (!flight.room.valid()) return flight.room.refusal();
  flight.file = store_.make_temporary(offer.dataset);
  if (flight.file.fd() < 0) return errno;
  if (has_holes(origin)) return 0;
  int code = store_.allocate(offer.dataset, offer.kind, needed, wanted,
                             [&] { return flight.file.allocate(needed); });
  if (code == 0) flight.room.allocated();
  return code;
}

int StoreCache::more_room(WorkerId worker, std::uint64_t ticket, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  auto found = tickets_.find(ticket);
  if (found == tickets_.end() || found->second->worker != worker) return EBADF;
  const FlightPointer flight = found->second;
  if (std::exchange(flight->is_busy, true)) return EBUSY;
  lock.unlock();
  const int status = code_despite_shortage([&] {
    flight->room.allocated();
    return store_.reserve_more(flight->room, flight->offer.dataset, flight->offer.kind, bytes,
                               wanted_by(flight->offer));
  });
  if (!release(ticket, *flight)) land(flight, ECANCELED, false, [](int) {});
  return status;
}

StoreCache::FlightPointer StoreCache::take(WorkerId worker, std::uint64_t ticket,
                                           std::optional<bool> is_content) {
  std::lock_guard lock(mutex_);
  auto found = tickets_.find(ticket);
  if (found == tickets_.end() || found->second->worker != worker) return nullptr;
  FlightPointer flight = found->second;
  if (flight->is_busy) return nullptr;
  if (is_content && flight->offer.is_content != *is_content) return nullptr;
  tickets_.erase(found);
  flight->is_open = false;
  if (auto held = held_.find(worker); held != held_.end()) --held->second.tickets;
  return flight;
}

// Its end, however it came: those that wait for it begin anew.
void StoreCache::land(const FlightPointer& flight, int status, bool copied, const Done& done) {
  const BeginFill& offer = flight->offer;
  std::vector<std::function<void()>> followers;
  {
    std::lock_guard lock(mutex_);
    const auto [first, last] = in_flight_.equal_range({offer.dataset, offer.seq});
    const auto found =
        std::find_if(first, last, [&](auto& one) { return one.second == flight; });
    if (found != last) in_flight_.erase(found);
    followers.swap(flight->followers);
    --under_way_;
  }
  flight->pending.reset();
  if (copied || (status != 0 && done)) {
    count(offer.dataset, offer.seq, offer.kind, status,
          static_cast<std::uint64_t>(offer.origin.st.st_size), copied);
  }
  if (done) despite_shortage([&] { done(status); });
  for (const std::function<void()>& follower : followers) despite_shortage(follower);
}

void StoreCache::finish_fill(WorkerId worker, const FinishFill& finish, Done done) {
  const FlightPointer flight = take(worker, finish.ticket, false);
  if (!flight) return done(EBADF);
  const BeginFill& offer = flight->offer;
  const int outcome = code_despite_shortage([&] {
    OriginFacts facts = offer.origin;
    const OriginIdentity before = identity_of(facts.st, offer.kind, 0);
    struct stat local = {};
    int status = flight->cancelled->load() ? ECANCELED : flight->file.seal_content();
    // In a cache of the user's own no proof is needed.
    if (status == EINVAL && !store_.serves_all_users()) status = 0;
    if (status == 0 && !is_frame(finish.after)) status = EINVAL;
    if (status == 0 && !same_file(before, finish.after)) status = ESTALE;
    if (status == 0 && ::fstat(flight->file.fd(), &local) != 0) status = errno;
    if (status == 0 && local.st_size != facts.st.st_size) status = EBADMSG;
    if (status != 0) return status;
    facts.st = finish.after;
    FinishedCopy copy;
    copy.identity = identity_of(facts.st, offer.kind, finish.checksum);
    status = seal_copy(flight->file.fd(), copy.identity, facts.st.st_atim, facts.st.st_mtim);
    if (status != 0) return status;
    flight->room.allocated();
    const bool is_young =
        changed_lately(facts.st) || (finish.writers_unknown && was_touched_lately(facts.st));
    if (offer.kind == FrameKind::kAlien && is_young) {
      trust_.doubt(offer.dataset, kYoung, offer.seq);
    }
    copy.bytes = std::min(finish.room, static_cast<std::uint64_t>(facts.st.st_size));
    copy.file = std::move(flight->file);
    copy.reservation = std::move(flight->room);
    return commit(flight, std::move(copy), &facts, done);
  });
  if (outcome != kCommitting) land(flight, outcome, false, done);
}

// `origin` is null if there is none yet.
int StoreCache::commit(const FlightPointer& flight, FinishedCopy copy,
                       const OriginFacts* origin, Done done) {
  const BeginFill& offer = flight->offer;
  copy.dataset = offer.dataset;
  copy.seq = offer.seq;
  copy.kind = offer.kind;
  copy.cancelled = flight->cancelled;
  copy.waits = origin == nullptr;
  if (origin != nullptr) copy.owner = origin->st.st_uid;
  if (origin != nullptr && store_.serves_all_users()) {
    copy.reached = origin->reached;
    AccessList readers = AccessList::of(origin->st, origin->acl, Right::kRead);
    if (int code = readers.grant(copy.file.fd(), Right::kRead); code != 0) return code;
    origins_.mirror(flight->worker, offer.dataset, copy.reached);
  }
  committer_.enqueue(flight->worker, std::move(copy),
                     [this, flight, done](int status) { land(flight, status, true, done); });
  return kCommitting;
}

void StoreCache::abandon_fill(WorkerId worker, std::uint64_t ticket, int status) {
  const FlightPointer flight = take(worker, ticket);
  if (!flight) return;
  if (status == 0) return land(flight, 0, false, nullptr);
  // The error may be the origin's: of the disk only zazend's own look at it counts.
  if (flight->file.fd() >= 0) store_.health().note(flight->file.write_failure());
  land(flight, status, false, [](int) {});
}

void StoreCache::note_failed(const FillFailed& failed) {
  count(failed.dataset, failed.seq, failed.kind, failed.status, 0, false);
}

void StoreCache::count(std::uint32_t dataset, FrameSeq seq, FrameKind kind, int status,
                       std::uint64_t copied_bytes, bool copied) {
  const bool push = kind == FrameKind::kNative;
  const bool usual = status == 0 || status == ECANCELED || is_out_of_room(status) ||
                     status == EBUSY || status == EMLINK || status == EAGAIN ||
                     (status == ENOENT && !push);
  if (!usual) {
    despite_shortage([&] {
      log_line(LogLevel::kWarn, push ? "push_failed" : "fill_failed",
               {{"dataset", store_.dataset(dataset).path},
                {"frame", store_.name_of(dataset, seq)},
                {"error", std::strerror(status)}});
    });
  }
  std::lock_guard lock(mutex_);
  if (status == 0 && copied) counts_.bytes += copied_bytes;
  if (status != 0) {
    ++counts_.failed;
  } else if (push) {
    ++counts_.pushes;
  } else if (copied) {
    ++counts_.fills;
  }
}

void StoreCache::cancel(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard lock(mutex_);
  const auto [first, last] = in_flight_.equal_range({dataset, seq});
  for (auto one = first; one != last; ++one) one->second->cancelled->store(true);
  in_flight_.erase(first, last);  // a later request starts anew
}

void StoreCache::worker_gone(WorkerId worker) {
  std::vector<std::uint64_t> left;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [ticket, flight] : tickets_) {
      if (flight->worker == worker) left.push_back(ticket);
    }
    held_.erase(worker);
  }
  for (std::uint64_t ticket : left) abandon_fill(worker, ticket, ECANCELED);
}

FillCounts StoreCache::counts() const {
  std::lock_guard lock(mutex_);
  FillCounts counts = counts_;
  counts.under_way = under_way_;
  return counts;
}

// ---- Content that the origin may not have yet (D9)
//
// If the origin has the frame, the copy gets its identity at once; otherwise it waits
// (waiting_natives.h). A push that came before is one frame with this one if size and checksum
// are the same; an alien becomes a native. Of two contents the one that the origin has stays,
// else the newer one.

void StoreCache::finish_content(WorkerId worker, const FinishContent& finish, Done done) {
  const FlightPointer flight = take(worker, finish.ticket, true);
  if (!flight) return done(EBADF);
  const int status = code_despite_shortage([&] {
    if (int code = seal_received(*flight, finish.bytes); code != 0) return code;
    ReceivedContent received{std::move(flight->file), std::move(flight->room), finish.bytes,
                             std::min(finish.room, finish.bytes), finish.checksum};
    return place_received(flight, std::move(received), finish.look, done);
  });
  if (status != kCommitting) land(flight, status, false, done);
}

int StoreCache::seal_received(Flight& flight, std::uint64_t bytes) {
  struct stat local = {};
  int status = flight.cancelled->load() ? ECANCELED : flight.file.seal_content();
  if (status == EINVAL && !store_.serves_all_users()) status = 0;
  if (status == 0 && ::fstat(flight.file.fd(), &local) != 0) status = errno;
  if (status == 0 && static_cast<std::uint64_t>(local.st_size) != bytes) status = EBADMSG;
  flight.room.allocated();
  return status;
}

int StoreCache::finish_push(WorkerId worker, std::uint32_t dataset, const PushedFile& finish,
                            ReceivedContent* out) {
  const FlightPointer flight = take(worker, finish.ticket, true);
  if (!flight) return EBADF;
  const int status =
      flight->offer.dataset == dataset ? seal_received(*flight, finish.bytes) : EBADF;
  *out = {std::move(flight->file),
          std::move(flight->room),
          finish.bytes,
          finish.bytes,
          finish.checksum,
          {store_.pending(), dataset, finish.seq}};
  land(flight, status, false, nullptr);
  return status;
}

void StoreCache::take_received(WorkerId worker, std::uint32_t dataset, FrameSeq seq,
                               ReceivedContent received, const OriginLook& look, Done done) {
  FlightPointer begun;
  const bool is_taken = despite_shortage([&] {
    auto flight = std::make_shared<Flight>();
    flight->worker = worker;
    flight->offer.dataset = dataset;
    flight->offer.seq = seq;
    flight->offer.kind = FrameKind::kNative;
    flight->offer.is_content = true;
    flight->offer.origin.st.st_size = static_cast<off_t>(received.bytes);
    flight->is_open = false;
    std::lock_guard lock(mutex_);
    const auto [first, last] = in_flight_.equal_range({dataset, seq});
    const auto finished =
        std::find_if(first, last, [](auto& one) { return one.second->is_pushed(); });
    if (finished != last) {  // it ends soon: zazend commits it
      auto waiting = std::make_shared<ReceivedContent>(std::move(received));
      finished->second->followers.push_back([=, this] {
        const bool is_begun = despite_shortage(
            [&] { take_received(worker, dataset, seq, std::move(*waiting), look, done); });
        if (!is_begun) done(ENOMEM);
      });
      return;
    }
    for (auto one = first; one != last;) {  // a fill, named or not, must not replace the native
      const bool is_fill = one->second->offer.kind == FrameKind::kAlien;
      if (is_fill) one->second->cancelled->store(true);
      one = is_fill ? in_flight_.erase(one) : std::next(one);
    }
    in_flight_.emplace(Key(dataset, seq), flight);
    flight->pending = std::move(received.pending);
    ++under_way_;
    begun = std::move(flight);
  });
  if (!is_taken) return done(ENOMEM);
  if (!begun) return;  // it waits
  const int status = code_despite_shortage(
      [&] { return place_received(begun, std::move(received), look, done); });
  if (status != kCommitting) land(begun, status, false, done);
}

bool StoreCache::is_held(WorkerId worker, const BeginFill& offer,
                         const ReceivedContent& received, const OriginLook& look, int* status) {
  std::optional<HeldFrame> held = store_.find(offer.dataset, offer.seq);
  OriginIdentity copy = {};
  if (!held || store_.read_copy_identity(offer.dataset, offer.seq, &copy) != 0) return false;
  bool same = copy.size == received.bytes && copy.checksum == received.checksum;
  *status = 0;
  if (store_.is_waiting(offer.dataset, offer.seq)) {
    // Where the origin has the frame, one that cannot be adopted is worth nothing.
    return same && (look.status != 0 ||
                    adopt_known(worker, offer.dataset, offer.seq, look.origin) == 0);
  }
  // The copy may have been read while its origin changed: what comes later is newer.
  bool newer = !same && look.status == 0 && held->kind == FrameKind::kNative;
  bool current = look.is_there && same_file(copy, look.origin.st) && !newer;
  bool stays = current || (same && look.status != 0);
  if (!stays) return false;
  if (held->kind == FrameKind::kAlien) *status = store_.promote(offer.dataset, offer.seq);
  return *status != ENOENT;  // it was evicted just now
}

int StoreCache::place_received(const FlightPointer& flight, ReceivedContent received,
                               const OriginLook& look, Done done) {
  const BeginFill& offer = flight->offer;
  if (!is_look_at(received, look)) return EINVAL;
  int status = 0;
  if (is_held(flight->worker, offer, received, look, &status)) {
    if (status == 0) count(offer.dataset, offer.seq, offer.kind, 0, 0, false);
    return status;
  }
  if (store_.directory_is_full(offer.dataset)) return EMLINK;
  const bool known = look.status == 0;
  const struct stat& origin = look.origin.st;
  FinishedCopy copy;
  copy.bytes = received.written;
  copy.file = std::move(received.file);
  copy.reservation = std::move(received.room);
  if (known) status = store_.assign(copy.reservation, offer.dataset, origin.st_uid);
  if (status != 0) return status;
  copy.identity = known ? identity_of(origin, FrameKind::kNative, received.checksum)
                        : unknown_identity(received.bytes, received.checksum);
  status = seal_copy(copy.file.fd(), copy.identity, origin.st_atim, origin.st_mtim);
  if (status != 0) return status;
  return commit(flight, std::move(copy), known ? &look.origin : nullptr, std::move(done));
}

int StoreCache::adopt(WorkerId worker, const Adopt& adopt) {
  if (!store_.is_waiting(adopt.dataset, adopt.seq)) return ENOENT;
  const UniqueFd copy = store_.open_copy(adopt.dataset, adopt.seq);
  struct stat local = {};
  if (!copy.valid() || ::fstat(copy.get(), &local) != 0) return errno;
  const auto size = static_cast<std::uint64_t>(local.st_size);
  if (local.st_size != adopt.origin.st.st_size ||
      (size > 0 && sample_pages(copy.get(), size) != adopt.pages)) {
    return ESTALE;
  }
  return adopt_known(worker, adopt.dataset, adopt.seq, adopt.origin);
}

int StoreCache::adopt_known(WorkerId worker, std::uint32_t dataset, FrameSeq seq,
                            const OriginFacts& origin) {
  if (!is_frame(origin.st)) return EINVAL;
  AccessList readers = AccessList::nobody();
  if (store_.serves_all_users()) {
    readers = AccessList::of(origin.st, origin.acl, Right::kRead);
    origins_.mirror(worker, dataset, origin.reached);
  }
  UniqueFd copy = store_.open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  int code = store_.adopt(dataset, seq, std::move(copy), origin.st, readers, origin.reached);
  if (code != 0) return code;
  // From now on a program that changes the origin finds the copy under its name.
  FinishedCopy named;
  named.dataset = dataset;
  named.seq = seq;
  named.kind = FrameKind::kNative;
  named.identity = identity_of(origin.st, FrameKind::kNative, 0);
  named.reached = origin.reached;
  origins_.verify(worker, std::span(&named, 1));
  if (named.status == 0) return 0;
  store_.drop(dataset, std::span(&seq, 1));
  return ESTALE;
}

}  // namespace zazen
