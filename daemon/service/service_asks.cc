// What each message of a worker means (link_messages.h). A worker is taken for hostile: a
// message that no worker of ours sends cuts it off; tickets count only for the worker that has
// them. That the user may ask for something at all the worker has seen at the origin: what one
// that was taken over could do by that is in docs/security.md.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bodhi/common/memory_file.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/node/packed_listing.h"
#include "bodhi/node/seqlog.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/service/reload.h"
#include "daemon/service/service.h"
#include "daemon/validation/scrub.h"

namespace zazen {
namespace {

constexpr off_t kLargestListing = off_t{1} << 27;
constexpr std::size_t kMostListings = 4;  // of a worker
constexpr std::int64_t kScrubPatienceMs = 200;
constexpr std::chrono::milliseconds kFiguresLimit(100);
constexpr std::chrono::milliseconds kConnectLimit(5'000);

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// Of zazend's own user, or of root.
bool is_own(const WorkerPool::Worker& worker) {
  return worker.credentials().uid == 0 || worker.credentials().uid == ::geteuid();
}

// In a file, because it may be too long for a packet.
template <class Asked>
void reply_content(const Asked& asked, std::string body, std::string_view content) {
  Result<UniqueFd> file = sealed_memory(content);
  if (!file) return asked.reply(ENOMEM);
  asked.reply(ContentReply{std::move(body), std::move(*file)});
}

}  // namespace

LinkPacket Service::first_order(const WorkerCredentials& credentials) {
  publisher_.note_user(credentials.uid);
  return packet_of(configuration());
}

bool Service::take(Worker& worker, LinkPacket packet) {
  auto find = [&]<class... Asks>(std::tuple<Asks...>*) {
    return ((packet.type == kLinkType<Asks> && take_as<Asks>(worker, packet)) || ...);
  };
  return find(static_cast<LinkAsks*>(nullptr));
}

template <class Ask>
bool Service::take_as(Worker& worker, LinkPacket& packet) {
  constexpr bool kOfMetrics = std::is_same_v<Ask, StatusAsk> ||
                              std::is_same_v<Ask, WorkerFigures> || std::is_same_v<Ask, Leave>;
  if (worker.credentials().serves_metrics && !kOfMetrics) return false;
  auto asked = std::make_shared<Asked<Ask>>();
  if (!decode_link_body(packet.body, &asked->ask)) return false;
  std::uint32_t dataset = kNoDataset;
  if constexpr (requires { asked->ask.dataset; }) {
    dataset = asked->ask.dataset;
    if (dataset >= store_.datasets()) return false;
  }
  if constexpr (std::is_same_v<Ask, BeginFill>) {
    const bool is_miss = asked->ask.kind == FrameKind::kAlien && !asked->ask.is_idle;
    uses_.note_ask(worker.credentials().uid, dataset, is_miss);
  } else if constexpr (std::is_same_v<Ask, SampleAsk> || std::is_same_v<Ask, ReadIn> ||
                       std::is_same_v<Ask, Used>) {
    uses_.note_ask(worker.credentials().uid, dataset, false);
  }
  asked->worker = worker.shared_from_this();
  asked->request = packet.request;
  auto work = [this, asked] {
    if (!despite_shortage([&] { handle(*asked); })) asked->reply(ENOMEM);
  };
  // One is made while another takes long; what takes long waits for its like only.
  bool is_long = std::is_same_v<Ask, Evict> || std::is_same_v<Ask, ListAsk>;
  // A native waits for the reconciliation.
  if constexpr (std::is_same_v<Ask, BeginFill>) {
    is_long = asked->ask.kind == FrameKind::kNative && !store_.is_reconciled();
  } else if constexpr (std::is_same_v<Ask, BeginPushes>) {
    is_long = !store_.is_reconciled();
  }
  is_long ? worker.post_long(work) : worker.post(dataset, work);
  return true;
}

// ---- Fills

// Nothing tells whether content is what the origin will have: it is believed of those only who
// could write the cache itself, or have the key.
void Service::handle(const Asked<BeginFill>& asked) {
  if (asked.ask.is_content &&
      (!is_own(*asked.worker) || asked.worker->credentials().is_listener)) {
    return asked.reply(EPERM);
  }
  cache_.begin_fill(asked.worker->id(), asked.ask,
                    [=, this](int status, BeginFill::Reply reply) {
                      const std::uint64_t ticket = reply.ticket;
                      if (status != 0) return asked.reply(status);
                      if (despite_shortage([&] { asked.reply(std::move(reply)); })) return;
                      cache_.abandon_fill(asked.worker->id(), ticket, ENOMEM);
                      asked.reply(ENOMEM);
                    });
}

void Service::handle(const Asked<MoreRoom>& asked) {
  asked.reply(cache_.more_room(asked.worker->id(), asked.ask.ticket, asked.ask.bytes));
}

void Service::handle(const Asked<FinishFill>& asked) {
  cache_.finish_fill(asked.worker->id(), asked.ask,
                     [asked](int status) { asked.reply(status); });
}

// Its look at the origin names the readers of the copy.
void Service::handle(const Asked<FinishContent>& asked) {
  if (!is_own(*asked.worker) || asked.worker->credentials().is_listener) {
    return asked.reply(EPERM);
  }
  cache_.finish_content(asked.worker->id(), asked.ask,
                        [asked](int status) { asked.reply(status); });
}

void Service::handle(const Asked<BeginPushes>& asked) {
  if (!asked.worker->credentials().is_listener) return asked.reply(EPERM);
  BeginPushes::Reply reply;
  const int status = cache_.begin_pushes(asked.worker->id(), asked.ask, &reply);
  if (status != 0) return asked.reply(status);
  std::array<std::uint64_t, BeginPushes::kMost> tickets = {};
  std::ranges::copy(reply.tickets, tickets.begin());
  if (despite_shortage([&] { asked.reply(std::move(reply)); })) return;
  for (std::uint64_t ticket : tickets) cache_.abandon_fill(asked.worker->id(), ticket, ENOMEM);
  asked.reply(ENOMEM);
}

void Service::handle(const Asked<FinishPushes>& asked) {
  const std::uint32_t dataset = asked.ask.dataset;
  const std::vector<PushedFile>& files = asked.ask.pushed;
  if (!asked.worker->credentials().is_listener) return asked.reply(EPERM);
  if (files.empty() || files.size() > FinishPushes::kMost) return asked.reply(EINVAL);
  struct Outcome {
    Asked<FinishPushes> asked;
    FinishPushes::Reply reply;
    std::atomic<std::size_t> left;
  };
  auto outcome = std::make_shared<Outcome>();
  outcome->asked = asked;
  outcome->reply.statuses.resize(files.size());
  outcome->left = files.size();
  auto settle = [this, outcome](std::size_t i, int status) {
    Outcome& all = *outcome;
    ++(status == 0 ? pushes_.durable : pushes_.failed);
    all.reply.statuses[i] = status;
    if (--all.left > 0) return;
    if (!despite_shortage([&] { all.asked.reply(std::move(all.reply)); })) {
      all.asked.reply(ENOMEM);
    }
  };
  std::list<Received> arrived;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int status = code_despite_shortage([&] {
      ReceivedContent content;
      const int code = cache_.finish_push(asked.worker->id(), dataset, files[i], &content);
      if (code != 0) return code;
      arrived.push_back(
          {files[i].seq, std::move(content), [settle, i](int done) { settle(i, done); }});
      return 0;
    });
    if (status != 0) settle(i, status);
  }
  if (despite_shortage([&] { take_pushes(dataset, arrived); })) return;
  for (const Received& one : arrived) one.done(ENOMEM);
}

void Service::handle(const Asked<AbandonFill>& asked) {
  cache_.abandon_fill(asked.worker->id(), asked.ask.ticket, asked.ask.status);
  asked.reply(0);
}

void Service::handle(const Asked<FillFailed>& asked) {
  cache_.note_failed(asked.ask);
  asked.reply(0);
}

void Service::handle(const Asked<Adopt>& asked) {
  asked.reply(cache_.adopt(asked.worker->id(), asked.ask));
}

// ---- Changes

// A fill under way sees the mark, a published copy is removed: in this order nothing slips
// through.
int Service::drop_changed(std::uint32_t dataset, FrameSeq seq, const char* why) {
  trust_.doubt(dataset, kYoung, seq);
  cache_.cancel(dataset, seq);
  if (store_.drop(dataset, std::span(&seq, 1)).frames > 0) changes_.dropped(dataset, seq, why);
  bool stays = store_.find(dataset, seq).has_value();  // the disk does not let it go
  if (stays) trust_.doubt(dataset, kStale);
  return stays ? EIO : 0;
}

void Service::handle(const Asked<Changed>& asked) {
  if (asked.ask.was_removed) {
    const auto [dataset, seq] = std::pair(asked.ask.dataset, asked.ask.seq);
    const ExactCopy none{seq};
    if (store_.drop_exactly(dataset, std::span(&none, 1), false).frames > 0) {
      changes_.dropped(dataset, seq, PeerChanges::kChanged);
    }
    return asked.reply(0);
  }
  const bool is_stale = asked.ask.found_stale;
  if (is_stale) trust_.doubt(asked.ask.dataset, kStale);
  const char* why = is_stale ? PeerChanges::kDiffered : PeerChanges::kChanged;
  asked.reply(drop_changed(asked.ask.dataset, asked.ask.seq, why));
  // Until its directory in the cache is mirrored, programs cannot see that there is no copy.
  if (store_.serves_all_users() && !store_.directory_owner(asked.ask.dataset)) {
    origins_.mirror_rights(asked.ask.dataset, asked.worker->id());
  }
}

// A fill that is under way sees the mark, and a published copy loses its name, as above.
void Service::handle(const Asked<Suspend>& asked) {
  const auto [dataset, seq] = std::pair(asked.ask.dataset, asked.ask.seq);
  {
    std::lock_guard lock(mutex_);
    writes_[asked.worker->id()].insert(dataset);
  }
  cache_.cancel(dataset, seq);
  Suspend::Reply reply;
  OriginIdentity copy = {};
  if (store_.read_copy_identity(dataset, seq, &copy) == 0) {
    reply.has_copy = true;
    reply.size = copy.size;
    reply.mtime_ns = copy.mtime_ns;
    reply.ctime_ns = copy.ctime_ns;
  }
  int code = store_.suspend(dataset, seq);
  reply.is_suspended = code == 0;
  if (code == ENOENT) {
    trust_.doubt(dataset, kYoung, seq);
    code = 0;
  } else if (code != 0) {
    code = drop_changed(dataset, seq, PeerChanges::kChanged);
  }
  code == 0 ? asked.reply(reply) : asked.reply(code);
}

void Service::handle(const Asked<Restore>& asked) {
  const Restore& ask = asked.ask;
  if (ask.is_young) trust_.doubt(ask.dataset, kYoung, ask.seq);
  asked.reply(store_.restore(ask.dataset, ask.seq, ask.epoch));
}

// The readers of the copy come anew: only the frame's owner is believed, or zazend's own user.
void Service::handle(const Asked<Renew>& asked) {
  const Renew& ask = asked.ask;
  if (!is_frame(ask.origin.st)) return asked.reply(EINVAL);
  OriginIdentity identity = {};
  if (int code = store_.read_copy_identity(ask.dataset, ask.seq, &identity); code != 0) {
    return asked.reply(code);
  }
  if (!is_own(*asked.worker) && asked.worker->credentials().uid != identity.uid) {
    return asked.reply(EPERM);
  }
  AccessList readers = AccessList::nobody();
  if (store_.serves_all_users()) {
    readers = AccessList::of(ask.origin.st, ask.origin.acl, Right::kRead);
  }
  UniqueFd copy = store_.open_copy(ask.dataset, ask.seq);
  if (!copy.valid()) return asked.reply(errno);
  asked.reply(
      store_.renew(ask.dataset, ask.seq, ask.epoch, std::move(copy), ask.origin.st, readers));
}

void Service::handle(const Asked<CopyState>& asked) {
  const auto [dataset, seq] = std::pair(asked.ask.dataset, asked.ask.seq);
  CopyState::Reply reply;
  reply.epoch = store_.epoch(dataset, seq);
  reply.is_held = store_.find(dataset, seq).has_value();
  reply.status = store_.read_copy_identity(dataset, seq, &reply.identity);
  asked.reply(reply);
}

void Service::handle(const Asked<Check>& asked) {
  const std::uint32_t dataset = asked.ask.dataset;
  const WorkerId worker = asked.worker->id();
  if (store_.find(dataset, asked.ask.seq)) {
    SampleResult result =
        compare_frames(store_, dataset, {asked.ask.seq}, origins_.comparer(worker), 1);
    if (!result.stale.empty() && asked.ask.distrusts) trust_.doubt(dataset, kStale);
    settle(dataset, result);
  }
  asked.reply(0);
}

void Service::handle(const Asked<SampleAsk>& asked) {
  asked.reply(sample(asked.worker->id(), asked.ask.dataset));
}

// ---- What people ask for

void Service::handle(const Asked<Evict>& asked) {
  const Evict& ask = asked.ask;
  Store::Selection selection{ask.first, ask.last, (ask.what & kEvictNatives) != 0,
                             (ask.what & kEvictAliens) != 0, (ask.what & kEvictDryRun) != 0};
  Store::Evicted evicted = store_.evict(ask.dataset, selection);
  if (evicted.status != 0) return asked.reply(evicted.status);
  asked.reply(
      TextReply{as_bytes(EvictReply{evicted.gone.frames, evicted.gone.bytes, evicted.pinned})});
}

void Service::handle(const Asked<Pin>& asked) {
  const Pin& ask = asked.ask;
  if (ask.first > ask.last) return asked.reply(EINVAL);
  Amount held;
  int code = store_.pin(ask.dataset, {ask.first, ask.last}, ask.is_pinned, &held);
  if (code != 0) return asked.reply(code);
  asked.reply(TextReply{as_bytes(EvictReply{held.frames, held.bytes, 0})});
}

void Service::handle(const Asked<Verify>& asked) {
  scrubs_.post([this, asked] {
    const Verify& ask = asked.ask;
    const bool done = despite_shortage([&] {
      ScrubbedPiece piece =
          scrub_piece(store_, ask.dataset, ask.first, ask.last, kScrubPatienceMs, stopping_);
      std::string reply = as_bytes(piece.figures);
      for (const VerifyFinding& finding : piece.findings) reply += as_bytes(finding);
      asked.reply(TextReply{std::move(reply)});
    });
    if (!done) asked.reply(ENOMEM);
  });
}

void Service::handle(const Asked<ReadIn>& asked) {
  reads_.ask(asked.ask.dataset, asked.ask.seq, [asked](int status) { asked.reply(status); });
}

void Service::handle(const Asked<History>& asked) {
  asked.reply(TextReply{changes_.history(asked.ask.dataset, asked.ask.seq)});
}

// The user is the worker's, as the kernel has told: no message says who asks.
void Service::handle(const Asked<AddDataset>& asked) {
  if (asked.worker->credentials().is_listener) return asked.reply(EPERM);
  reload_->post(asked.ask, asked.worker->credentials().uid,
                [asked](int status) { asked.reply(status); });
}

void Service::handle(const Asked<StatusAsk>& asked) {
  if (!asked.worker->await_room_for_content()) return asked.reply(EAGAIN);
  WorkerFigures sum;
  {
    std::lock_guard lock(mutex_);
    sum = ended_figures_;
  }
  asked.worker->note(asked.ask.figures);
  for (const WorkerFigures& one : pool_->figures(*asked.worker, kFiguresLimit)) {
    add_figures(one, &sum);
  }
  const std::int64_t uptime_seconds = (monotonic_ms() - started_ms_) / 1000;
  // The worker for metrics sees no origin.
  OriginFindings findings = asked.ask.findings;
  if (asked.worker->credentials().serves_metrics) {
    pool_->order(pool_->own_worker(), Problems{}, &findings, OriginQuestions::kLimit);
  }
  std::string text = status_json({config_, store_, publisher_, trust_, cache_.counts(), sum,
                                  pool_->size(), pushes_, keys_->old_key_until().value_or(0),
                                  sweep_.progress(), changes_, uptime_seconds, reads_,
                                  bytes_read_, *reload_, std::move(findings), poor_place_});
  reply_content(asked, {}, text);
}

void Service::handle(const Asked<ReloadAsk>& asked) {
  if (!is_own(*asked.worker) || asked.worker->credentials().is_listener) {
    return asked.reply(EPERM);
  }
  if (!asked.worker->await_room_for_content()) return asked.reply(EAGAIN);
  reload_->post([asked](const ReloadOutcome& outcome) {
    if (!despite_shortage([&] { reply_content(asked, {}, outcome.json()); })) {
      asked.reply(ENOMEM);
    }
  });
}

void Service::handle(const Asked<ListAsk>& asked) {
  if (!asked.worker->await_room_for_content()) return asked.reply(EAGAIN);
  std::vector<ListRecord> records;
  if (!std::ranges::is_sorted(asked.ask.datasets, std::ranges::less_equal())) {
    return asked.reply(EINVAL);  // or one dataset may come a thousand times
  }
  for (std::uint32_t dataset : asked.ask.datasets) {
    if (dataset >= store_.datasets()) return asked.reply(EINVAL);
    for (const StoredFrame& frame : store_.list(dataset)) {
      records.push_back({frame.seq, frame.held.bytes, dataset, frame.held.kind,
                         static_cast<std::uint16_t>(frame.pinned ? 1 : 0)});
    }
  }
  reply_content(
      asked, as_bytes(ListReply{records.size()}),
      {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(ListRecord)});
}

// ---- Listings (D20)

// The worker writes the encoded listing to a file in memory.
void Service::handle(const Asked<BeginListing>& asked) {
  const WorkerId worker = asked.worker->id();
  if (asked.ask.bytes > static_cast<std::uint64_t>(kLargestListing)) return asked.reply(EFBIG);
  UniqueFd file(::memfd_create("zazen", MFD_CLOEXEC));
  BeginListing::Reply reply;
  reply.file.reset(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!reply.file.valid()) return asked.reply(errno);
  {
    std::lock_guard lock(mutex_);
    auto mine = std::ranges::count_if(
        listings_, [&](const auto& one) { return one.second.worker == worker; });
    if (static_cast<std::size_t>(mine) >= kMostListings) return asked.reply(EAGAIN);
    reply.ticket = next_listing_++;
    listings_.emplace(reply.ticket, Listing{worker, asked.ask.dataset, std::move(file)});
  }
  asked.reply(std::move(reply));
}

void Service::handle(const Asked<FinishListing>& asked) {
  asked.reply(keep_listing(asked));
}

int Service::keep_listing(const Asked<FinishListing>& asked) {
  std::unique_lock lock(mutex_);
  auto found = listings_.find(asked.ask.ticket);
  if (found == listings_.end() || found->second.worker != asked.worker->id()) return EBADF;
  const Listing listing = std::move(found->second);
  listings_.erase(found);
  lock.unlock();
  struct stat st = {};
  if (::fstat(listing.file.get(), &st) != 0) return errno;
  if (st.st_size > kLargestListing) return EFBIG;
  std::string encoded(static_cast<std::size_t>(st.st_size), '\0');
  const long size = raw_read_at(listing.file.get(), encoded.data(), encoded.size(), 0);
  if (size < 0) return static_cast<int>(-size);
  if (size != st.st_size || !PackedListing::read(encoded).ok()) return EINVAL;
  if (store_.serves_all_users()) {
    origins_.mirror(asked.worker->id(), listing.dataset, asked.ask.reached);
  }
  return store_.keep_listing(listing.dataset, encoded, asked.ask.reached);
}

// ---- Other nodes

void Service::handle(const Asked<Notice>& asked) {
  if (!is_own(*asked.worker) && !asked.worker->credentials().is_listener) {
    return asked.reply(EPERM);
  }
  asked.reply(changes_.take(asked.ask.bytes));
}

void Service::handle(const Asked<Tell>& asked) {
  changes_.tell(asked.ask);
  asked.reply(0);
}

void Service::handle(const Asked<Doubt>& asked) {
  doubt_and_tell(asked.ask.dataset);
  asked.reply(0);
}

void Service::handle(const Asked<Untold>& asked) {
  note_untold(asked.ask.dataset, asked.worker->credentials().uid);
  asked.reply(0);
}

void Service::handle(const Asked<Used>& asked) {
  asked.reply(0);  // that it asks is the use
}

void Service::handle(const Asked<PushKeyAsk>& asked) {
  const bool pushes = asked.worker->credentials().is_listener || is_own(*asked.worker) ||
                      std::ranges::any_of(config_.datasets, [](const DatasetConfig& one) {
                        return one.push && !one.removed;
                      });
  const Result<Credentials> credentials = keys_->credentials();
  if (!pushes || !credentials) return asked.reply(pushes ? credentials.error().code : EPERM);
  asked.reply(PushKeyAsk::Reply{credentials->key, credentials->old_keys, credentials->munge});
}

// ---- Pushes over the network

void Service::handle(const Asked<Natives>& asked) {
  if (!asked.worker->await_room_for_content()) return asked.reply(EAGAIN);
  if (!asked.worker->credentials().is_listener) return asked.reply(EPERM);
  const std::string& path = config_.datasets[asked.ask.dataset].path;
  Result<FrameSet> natives = read_sequence_log(config_.cache + path + "/" + kNativeLog);
  if (!natives.ok()) return asked.reply(natives.error().code);
  reply_content(asked, {}, natives->encode());
}

void Service::handle(const Asked<DiskState>& asked) {
  asked.reply(DiskState::Reply{store_.health().problem().empty()});
}

void Service::handle(const Asked<DecodeMunge>& asked) {
  if (!asked.worker->credentials().is_listener) return asked.reply(EPERM);
  // As long as MUNGE takes; the listener bounds how many wait.
  munge_.post([this, asked] {
    MungeReply reply;
    const int code = pool_->order(pool_->own_worker(), Munge{asked.ask.credential}, &reply,
                                  WorkQueue::kForEver);
    code == 0 ? asked.reply(std::move(reply)) : asked.reply(code);
  });
}

// The proof is MUNGE's: the worker of this user checks that the request is the one that the
// user has made. zazend's own end is closed before the listener gets the other one, so nothing
// that is passed through it can be closed here.
void Service::handle(const Asked<ConnectAs>& asked) {
  if (!asked.worker->credentials().is_listener || !config_.all_users) return asked.reply(EPERM);
  munge_.post([this, asked] {
    MungeReply proved;
    int code = pool_->order(pool_->own_worker(), Munge{asked.ask.credential, true}, &proved,
                            WorkQueue::kForEver);
    if (code != 0) return asked.reply(code);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return asked.reply(errno);
    }
    ConnectAs::Reply reply;
    reply.file = UniqueFd(ends[0]);
    LinkReply<ProvedConnection> taken;
    code = pool_->order(pool_->worker_of_account(proved.uid),
                        ProvedConnection{asked.ask.binding, std::move(proved.secret)}, &taken,
                        kConnectLimit, UniqueFd(ends[1]));
    code == 0 ? asked.reply(std::move(reply)) : asked.reply(code);
  });
}

// ---- The worker itself

void Service::handle(const Asked<WorkerFigures>& asked) {
  asked.worker->note(asked.ask);
  asked.reply(0);
}

void Service::handle(const Asked<Leave>& asked) {
  asked.reply(asked.worker->take_leave(asked.ask.orders_seen));
}

void Service::worker_ended(WorkerId worker, const WorkerCredentials& credentials,
                           const WorkerFigures& figures, bool has_left) {
  cache_.worker_gone(worker);
  if (!has_left) publisher_.note_unread(credentials.uid);
  std::set<std::uint32_t> watched;
  {
    std::lock_guard lock(mutex_);
    add_figures(figures, &ended_figures_);
    ended_figures_.connections = ended_figures_.fills_queued = 0;
    ended_figures_.being_written = ended_figures_.watched = 0;
    ended_figures_.peers.clear();
    std::erase_if(ended_figures_.nodes,
                  [this](const NodeFigures& node) {  // by the worker's word
                    return std::ranges::find(config_.peers, node.peer) == config_.peers.end();
                  });
    ended_figures_.dropped += std::exchange(ended_figures_.waiting, 0);
    std::erase_if(listings_, [&](const auto& one) { return one.second.worker == worker; });
    if (auto found = writes_.extract(worker)) watched = std::move(found.mapped());
    if (!has_left) {
      if (auto asked = asked_untold_.extract(credentials.uid)) {
        untold_[credentials.uid].merge(asked.mapped().datasets);
      }
    }
  }
  if (stopping_) return;
  if (worker == listener_) start_listener();
  if (worker == metrics_worker_) start_metrics();
  std::unique_lock lock(mutex_);
  const bool told_peers = worker == peers_worker_;
  lock.unlock();
  if (told_peers) changes_.greet(true);
  // One that leaves watches nothing any more.
  if (has_left) return;
  for (std::uint32_t dataset : watched) watch_suspended(dataset);
  // Frames that it watched, or of which it has not read the news (program_news.h), may have
  // changed.
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) changes_.distrust(i);
}

}  // namespace zazen
