// Names from outside count only if they are a configured dataset's path, letter by letter,
// and a name of its template; so none can lead anywhere else.
#include "daemon/service.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "bodhi/packed_listing.h"
#include "daemon/adoption.h"
#include "daemon/job_sweep.h"
#include "daemon/log.h"
#include "daemon/scrub.h"
#include "daemon/status.h"

namespace zazen {
namespace {

constexpr off_t kLargestListing = off_t{1} << 27;
constexpr std::uint32_t kOnlyQuestion = 0, kAllDatasets = ~std::uint32_t{0};
constexpr std::int64_t kScrubPatienceMs = 200;
constexpr std::int64_t kRightsPeriodMs = 10'000;
constexpr std::int64_t kReconcileAgainMs = 5'000;

bool brings_content(MessageType type) {
  return type == MessageType::kFill || type == MessageType::kPush ||
         type == MessageType::kPushContent;
}

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// A frame that is watched has a descriptor open, as a queued fill has.
WrittenFrames::Limits limits_of(std::size_t queue_limit) {
  WrittenFrames::Limits limits;
  limits.watched = std::min(limits.watched, queue_limit / 4);
  return limits;
}

}  // namespace

Service::Service(const Config& config, Store& store, Publisher& publisher,
                 std::size_t queue_limit)
    : config_(config),
      store_(store),
      publisher_(publisher),
      started_ms_(monotonic_ms()),
      next_sweep_ms_(started_ms_ + kJobSweepPeriodMs),
      keys_(std::make_shared<KeyRing>(config.key_file)),
      young_([&publisher](std::uint32_t dataset, std::uint32_t copies) {
        publisher.note_young(dataset, copies);
      }),
      filler_(store, young_, queue_limit, [this] { outbox_.wake(); }),
      changes_(config, store, keys_,
               {.doubt = [this](std::uint32_t dataset) { sweep_.doubt(dataset); },
                .compare = [this](std::uint32_t dataset,
                                  std::vector<FrameSeq> frames) { compare(dataset, frames); }}),
      sweep_(store, config.sweep_ms,
             {.mark = [&publisher](std::uint32_t dataset,
                                   bool checked) { publisher.note_checks(dataset, checked); },
              .drop = [this](std::uint32_t dataset,
                             const SampleResult& result) { settle(dataset, result); }}),
      reads_(store),
      own_user_(std::make_shared<PeerIdentity>(PeerIdentity{::geteuid(), ::getegid(), {}})),
      written_(config,
               {.closed = [this](const ClosedFrame& frame) { writers_gone(frame); },
                .epoch = [&store](std::uint32_t dataset,
                                  FrameSeq seq) { return store.epoch(dataset, seq); }},
               limits_of(queue_limit)),
      writer_(config, keys_, [this](const std::string& path, FrameSeq seq) {
        std::optional<std::uint32_t> dataset = find_dataset(path.data(), path.size());
        return dataset && written_.is_open(*dataset, seq);
      }) {
  store.health().watch([this](bool usable) { disk_changed(usable); });
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) take_up(i);
}

void Service::take_up(std::uint32_t dataset) {
  for (const auto& [fetched, seq] : store_.fetched_lately()) {
    if (fetched == dataset) young_.note(dataset, seq, monotonic_ms());
  }
  watch_suspended(dataset);
  post_reconcile(dataset);
}

void Service::post_reconcile(std::uint32_t dataset) {
  if (housework_[dataset].reconciling.exchange(true)) return;
  reconciling_.post([this, dataset] {
    // Who may reach the copies decides what the index tells of them: nothing, if the origin
    // does not say. But nobody's room waits for that.
    // And only the dataset's own directories: others wait for the same thread of this origin.
    auto look = [this, dataset] {
      if (store_.mirror_own_rights(dataset)) housework_[dataset].index_due = true;
      return 0;
    };
    if (store_.serves_all_users()) (void)origins().ask(dataset, look, Filler::kOriginLimit);
    housework_[dataset].index_due = false;
    for (FrameSeq seq : store_.reconcile(dataset)) young_.note(dataset, seq, monotonic_ms());
    housework_[dataset].reconciling = false;
  });
}

void Service::reconcile_again() {
  for (std::uint32_t dataset : store_.not_reconciled()) post_reconcile(dataset);
}

bool Service::is_answered(const MessageHeader& header) {
  bool is_news = header.type == MessageType::kFill || header.type == MessageType::kWritten;
  return !is_news || (header.flags & kWaitForIt) != 0;
}

Service::Taken Service::take(std::uint64_t client, const Peer& peer, Packet& packet) {
  MessageHeader header = packet.header();
  Asked asked{client, header.request, peer};
  switch (header.type) {
    case MessageType::kFill:
    case MessageType::kPush:
    case MessageType::kPushContent:
    case MessageType::kInvalidate:
    case MessageType::kReadIn:
    case MessageType::kWritten:
    case MessageType::kHistory:
      return take_frame(asked, packet);
    case MessageType::kSample:
    case MessageType::kList:
    case MessageType::kKeepListing:
      take_dataset(asked, packet);
      return Taken::kYes;
    case MessageType::kEvict:
    case MessageType::kPin:
    case MessageType::kUnpin:
      take_range(asked, packet);
      return Taken::kYes;
    case MessageType::kVerify:
      take_verify(asked, packet);
      return Taken::kYes;
    case MessageType::kStatus:
      if (statuses_.add(kOnlyQuestion, asked)) errands_.post([this] { answer_statuses(); });
      return Taken::kYes;
    case MessageType::kPeerNotice:
      take_peer_notice(asked, packet);
      return Taken::kYes;
    case MessageType::kReply:
      break;
  }
  return Taken::kNonsense;
}

Service::Taken Service::take_frame(const Asked& asked, Packet& packet) {
  MessageHeader header = packet.header();
  FrameNames names = frame_names(packet.bytes.data());
  std::optional<std::uint32_t> dataset = header.type == MessageType::kInvalidate
                                             ? find_dataset(names.dataset, names.dataset_length)
                                             : find_served(names.dataset, names.dataset_length);
  FillRequest fill;
  int refusal = 0;
  if (!dataset) {
    refusal = ENOENT;
  } else if (!config_.datasets[*dataset].name.match(names.name, names.name_length, &fill.seq)) {
    refusal = EINVAL;
  } else if (header.type == MessageType::kWritten && !config_.datasets[*dataset].push) {
    refusal = EOPNOTSUPP;
  } else if (brings_content(header.type) && !packet.passed.valid()) {
    refusal = EBADF;
  } else if (header.type == MessageType::kPushContent && !asked.is_own_user() &&
             asked.peer->uid != 0) {
    refusal = EPERM;  // nothing tells whether it is what the origin will have
  }
  if (refusal != 0) {
    if (is_answered(header)) answer(asked, refusal);
    return Taken::kYes;
  }
  if (header.type == MessageType::kInvalidate) {
    post_invalidate(asked, *dataset, fill.seq, header.flags);
    return Taken::kYes;
  }
  if (header.type == MessageType::kHistory) {
    if_allowed(asked, Wish::kSearch, *dataset, [this, asked, index = *dataset, seq = fill.seq] {
      answer(asked, 0, changes_.history(index, seq));
    });
    return Taken::kYes;
  }
  if (header.type == MessageType::kReadIn) {
    if_allowed(asked, Wish::kSearch, *dataset, [this, asked, index = *dataset, seq = fill.seq] {
      reads_.ask(index, seq, [this, asked](int status) { answer(asked, status); });
    });
    return Taken::kYes;
  }
  if (header.type == MessageType::kWritten) {
    WrittenFrame written{*dataset, fill.seq, asked.peer, nullptr};
    if (is_answered(header)) {
      written.done = [this, asked](int status) { answer(asked, status); };
    }
    written_.take(std::move(written));
    return Taken::kYes;
  }
  fill.dataset = *dataset;
  fill.kind = header.type == MessageType::kFill ? FrameKind::kAlien : FrameKind::kNative;
  fill.is_content = header.type == MessageType::kPushContent;
  fill.wanted = (header.flags & kNotYetOpened) != 0 ? Wanted::kLater : Wanted::kNow;
  fill.origin = std::move(packet.passed);
  fill.client = asked.peer;
  if (is_answered(header)) {
    fill.done = [this, asked](int status) { answer(asked, status); };
  }
  if (filler_.submit(fill)) return Taken::kYes;
  packet.passed = std::move(fill.origin);
  return Taken::kLater;
}

void Service::take_dataset(const Asked& asked, Packet& packet) {
  MessageType type = packet.header().type;
  FrameNames names = frame_names(packet.bytes.data());
  std::optional<std::uint32_t> dataset = find_served(names.dataset, names.dataset_length);
  bool all = type == MessageType::kList && names.dataset_length == 0;
  if (!dataset && !all) return answer(asked, ENOENT);
  if (type == MessageType::kList) {
    if (dataset) {
      if_allowed(asked, Wish::kList, *dataset, [=, this] { post_list(asked, dataset); });
    } else {
      post_list(asked, dataset);
    }
  } else if (type == MessageType::kSample) {
    if_allowed(asked, Wish::kSearch, *dataset, [this, asked, index = *dataset] {
      if (!comparisons_.add(index, asked)) return;
      bool posted = samples_.post(index, [this, index] {
        std::vector<Asked> askers = comparisons_.take(index);
        int status = sample(index);
        for (const Asked& one : askers) answer(one, status);
      });
      if (posted) return;
      for (const Asked& one : comparisons_.take(index)) answer(one, EAGAIN);
    });
  } else if (!packet.passed.valid()) {
    answer(asked, EBADF);
  } else {
    auto fd = std::make_shared<UniqueFd>(std::move(packet.passed));
    if_allowed(asked, Wish::kVouch, *dataset, [this, asked, index = *dataset, fd] {
      bool posted = samples_.post(
          index, [this, asked, index, fd] { answer(asked, keep_listing(index, fd->get())); });
      if (!posted) answer(asked, EAGAIN);
    });
  }
}

template <class Body>
std::optional<std::uint32_t> Service::read_body(const Packet& packet, Body* body) const {
  const char* begin = packet.bytes.data() + sizeof(MessageHeader);
  std::memcpy(body, begin, sizeof *body);
  return find_dataset(begin + sizeof *body, body->dataset_length);
}

void Service::take_range(const Asked& asked, const Packet& packet) {
  EvictBody body;
  std::optional<std::uint32_t> dataset = read_body(packet, &body);
  if (!dataset) return answer(asked, ENOENT);
  if (MessageType type = packet.header().type; type != MessageType::kEvict) {
    if (body.first > body.last) return answer(asked, EINVAL);
    FrameRange range{body.first, body.last};
    bool pinned = type == MessageType::kPin;
    if_allowed(asked, Wish::kManage, *dataset, [=, this, index = *dataset] {
      errands_.post([=, this] {
        Amount held;
        int code = store_.pin(index, range, pinned, &held);
        answer(asked, code, as_bytes(EvictReply{held.frames, held.bytes, 0}));
      });
    });
    return;
  }
  Store::Selection selection{body.first, body.last, (body.what & kEvictNatives) != 0,
                             (body.what & kEvictAliens) != 0, (body.what & kEvictDryRun) != 0};
  if_allowed(asked, Wish::kManage, *dataset, [this, asked, index = *dataset, selection] {
    long_errands_.post([this, asked, index, selection] {
      Store::Evicted evicted = store_.evict(index, selection);
      answer(asked, 0,
             as_bytes(EvictReply{evicted.gone.frames, evicted.gone.bytes, evicted.pinned}));
    });
  });
}

void Service::take_verify(const Asked& asked, const Packet& packet) {
  VerifyBody body;
  std::optional<std::uint32_t> dataset = read_body(packet, &body);
  if (!dataset) return answer(asked, ENOENT);
  if_allowed(asked, Wish::kManage, *dataset, [this, asked, index = *dataset, body] {
    scrubs_.post([this, asked, index, body] {
      ScrubbedPiece piece =
          scrub_piece(store_, index, body.first, body.last, kScrubPatienceMs, stopping_);
      std::string reply = as_bytes(piece.figures);
      for (const VerifyFinding& finding : piece.findings) reply += as_bytes(finding);
      answer(asked, 0, std::move(reply));
    });
  });
}

void Service::if_allowed(const Asked& asked, Wish wish, std::uint32_t dataset,
                         std::function<void()> errand) {
  if (asked.is_own_user()) return errand();
  bool posted = questions_.post(dataset, [=, this] {
    int refusal = ask_permission(*asked.peer, wish, config_.datasets[dataset]);
    if (refusal != 0) return answer(asked, refusal);
    errand();
  });
  if (!posted) answer(asked, EAGAIN);
}

// Who may not change the frame has perhaps seen that it was changed: it is looked at.
void Service::post_invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq,
                              std::uint32_t flags) {
  auto errand = [=, this] {
    if ((flags & kOpenForWriting) != 0) return open_for_writing(asked, dataset, seq);
    invalidate(asked, dataset, seq, (flags & kFoundStale) != 0);
  };
  if (asked.is_own_user()) return errands_.post(errand);
  bool posted = questions_.post(dataset, [=, this] {
    const DatasetConfig& config = config_.datasets[dataset];
    if (may_change(*asked.peer, config, store_.name_of(dataset, seq))) {
      return errands_.post(errand);
    }
    int refusal = ask_permission(*asked.peer, Wish::kSearch, config);
    if (refusal == 0 && store_.find(dataset, seq)) {
      SampleResult result = compare_frames(store_, dataset, {seq});
      if (!result.stale.empty()) sweep_.distrust(dataset);
      settle(dataset, result);
    }
    answer(asked, refusal);
  });
  if (posted) return;
  // Which of them was changed is not known any more: opens are checked until all are compared.
  doubt_and_tell(dataset);
  answer(asked, EAGAIN);
}

// What is under way sees the mark, what is published is removed: in this order nothing slips
// through.
void Service::invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq,
                         bool found_stale) {
  if (found_stale) sweep_.distrust(dataset);
  const char* why = found_stale ? PeerChanges::kDiffered : PeerChanges::kChanged;
  answer(asked, drop_changed(dataset, seq, asked.peer, why));
}

int Service::drop_changed(std::uint32_t dataset, FrameSeq seq, const Peer& client,
                          const char* why) {
  young_.note(dataset, seq, monotonic_ms());
  filler_.cancel(dataset, seq);
  const bool was_held = store_.drop(dataset, std::span(&seq, 1)).frames > 0;
  changes_.changed(dataset, seq, client, was_held ? why : "");
  bool stays = store_.find(dataset, seq).has_value();  // the disk does not let it go
  if (stays) sweep_.distrust(dataset);
  return stays ? EIO : 0;
}

void Service::answer(const Asked& asked, int status, std::string body) {
  outbox_.post(Answer{asked.client, asked.request, status, std::move(body), nullptr});
}

std::optional<std::uint32_t> Service::find_dataset(const char* path, std::size_t length) const {
  std::string_view wanted(path, length);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].path == wanted) return i;
  }
  return std::nullopt;
}

// Frames of a dataset that a reload removed can still be invalidated and evicted.
std::optional<std::uint32_t> Service::find_served(const char* path, std::size_t length) const {
  std::optional<std::uint32_t> found = find_dataset(path, length);
  return found && !config_.datasets[*found].removed ? found : std::nullopt;
}

int Service::sample(std::uint32_t dataset) {
  mirror_rights(dataset);
  SampleResult result = compare_sample(store_, dataset);
  // First of all: a new copy in the place of a stale one looks as though all were well.
  if (!result.stale.empty()) sweep_.distrust(dataset);
  settle(dataset, result);
  if (result.status == 0) publisher_.note_sample(dataset);
  return result.status;
}

void Service::look_at_young(std::uint32_t dataset) {
  std::int64_t now_ms = monotonic_ms();
  std::vector<FrameSeq> due = young_.due(dataset, now_ms);
  if (due.empty()) return;
  std::vector<FrameSeq> held;
  std::ranges::copy_if(due, std::back_inserter(held),
                       [&](FrameSeq seq) { return store_.find(dataset, seq).has_value(); });
  SampleResult result = compare_frames(store_, dataset, held);
  settle(dataset, result);
  if (result.status != 0 || result.unknown > 0) return;  // not to be known: they stay young
  young_.settle(dataset, due, now_ms);
}

void Service::settle(std::uint32_t dataset, const SampleResult& result) {
  for (FrameSeq seq : result.arrived) {
    auto question = [this, dataset, seq] {
      UniqueFd origin = open_origin(config_.datasets[dataset], store_.name_of(dataset, seq));
      return origin.valid() ? adopt(store_, dataset, seq, origin.get()) : errno;
    };
    if (origins().ask(dataset, question, Filler::kOriginLimit) == ETIMEDOUT) break;
  }
  if (result.stale.empty()) return;
  log_line(LogLevel::kWarn, "stale_copies",
           {{"dataset", config_.datasets[dataset].path},
            {"compared", std::to_string(result.compared)},
            {"stale", std::to_string(result.stale.size())}});
  changes_.found_stale(dataset, result.stale);
  store_.drop_exactly(dataset, result.stale);
}

// Of all datasets, what the answer is depends on who asks.
void Service::post_list(const Asked& asked, std::optional<std::uint32_t> dataset) {
  if (!dataset && !asked.is_own_user()) {
    long_errands_.post([this, asked] { answer_lists({asked}, std::nullopt); });
  } else if (lists_.add(dataset.value_or(kAllDatasets), asked)) {
    long_errands_.post([this, dataset] {
      answer_lists(lists_.take(dataset.value_or(kAllDatasets)), dataset);
    });
  }
}

// Datasets that the asker may not list, or whose origin does not say, are left out.
void Service::answer_lists(const std::vector<Asked>& askers,
                           std::optional<std::uint32_t> dataset) {
  std::vector<ListRecord> records;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (dataset ? *dataset != i : config_.datasets[i].removed.get()) continue;
    auto question = [peer = askers.front().peer, config = config_.datasets[i]] {
      return ask_permission(*peer, Wish::kList, config);
    };
    bool known = dataset || askers.front().is_own_user();
    if (!known && origins().ask(i, question, Filler::kOriginLimit) != 0) continue;
    for (const StoredFrame& frame : store_.list(i)) {
      records.push_back({frame.seq, frame.held.bytes, i, frame.held.kind,
                         static_cast<std::uint16_t>(frame.pinned ? 1 : 0)});
    }
  }
  answer_all(askers, as_bytes(ListReply{records.size()}),
             content_fd(records.data(), records.size() * sizeof(ListRecord)));
}

void Service::answer_statuses() {
  std::vector<Asked> askers = statuses_.take(kOnlyQuestion);
  std::int64_t uptime_seconds = (monotonic_ms() - started_ms_) / 1000;
  std::string text =
      status_json(config_, store_, publisher_, filler_, push_counts_, sweep_.progress(),
                  written_, writer_, changes_, uptime_seconds, reads_.copies_read());
  answer_all(askers, {}, content_fd(text.data(), text.size()));
}

void Service::answer_all(const std::vector<Asked>& askers, const std::string& body,
                         UniqueFd content) {
  int status = content.valid() ? 0 : ENOMEM;
  auto shared = std::make_shared<const UniqueFd>(std::move(content));
  for (const Asked& asked : askers) {
    outbox_.post(Answer{asked.client, asked.request, status, status == 0 ? body : "", shared});
  }
}

int Service::keep_listing(std::uint32_t dataset, int fd) {
  // Only a file in memory has seals. Any other's owner could keep us waiting, for as long as
  // its file system does not answer.
  if (::fcntl(fd, F_GET_SEALS) < 0) return EINVAL;
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return errno;
  if (st.st_size > kLargestListing) return EFBIG;
  std::string encoded(static_cast<std::size_t>(st.st_size), '\0');
  for (std::size_t done = 0; done < encoded.size();) {
    ssize_t size =
        ::pread(fd, encoded.data() + done, encoded.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return EINVAL;
    done += static_cast<std::size_t>(size);
  }
  Result<PackedListing> listing = PackedListing::read(encoded);
  if (!listing.ok()) return EINVAL;
  if (!is_settled(listing->directory(), listing->taken_at_ns())) return EAGAIN;
  const DatasetConfig& config = config_.datasets[dataset];
  Result<DirectoryIdentity> now =
      stat_directory(frame_directory(config.path, config.name), config.name);
  if (!now.ok()) return now.error().code;
  if (*now != listing->directory()) return ESTALE;
  return store_.keep_listing(dataset, encoded);
}

bool Service::trusts_all() const {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (!config_.datasets[i].removed && sweep_.is_in_doubt(i)) return false;
  }
  return store_.health().problem().empty();
}

// While it was out of use a change may not have dropped its copy: so opens are checked until
// all copies were compared.
void Service::disk_changed(bool usable) {
  for (std::uint32_t i = 0; usable && i < config_.datasets.size(); ++i) doubt_and_tell(i);
  if (usable) reconcile_again();
  publisher_.set_usable(usable);
}

void Service::note_opens() {
  std::vector<std::uint64_t> opens;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    Publisher::Uses uses = publisher_.uses(i);
    opens.push_back(uses.hits + uses.misses);
  }
  store_.note_opens(opens);
}

void Service::do_housework(std::uint32_t dataset) {
  Housework& work = housework_[dataset];
  work.posted = false;
  if (work.rights_due.exchange(false)) mirror_rights(dataset);
  look_at_young(dataset);
}

void Service::mirror_rights(std::uint32_t dataset) {
  if (store_.mirror_own_rights(dataset)) housework_[dataset].index_due = true;
  store_.mirror_rights_of_names(dataset);
}

void Service::do_chores() {
  note_opens();
  changes_.look_again();
  if (monotonic_ms() >= next_reconcile_ms_) {
    next_reconcile_ms_ = monotonic_ms() + kReconcileAgainMs;
    reconcile_again();
  }
  chores_posted_ = false;
}

void Service::keep_house() {
  writer_.keep_house();
  // Not here: whoever lists a million copies holds the store's lock.
  if (!chores_posted_.exchange(true)) errands_.post([this] { do_chores(); });
  bool rights = store_.serves_all_users() && monotonic_ms() >= next_rights_ms_;
  if (rights) next_rights_ms_ = monotonic_ms() + kRightsPeriodMs;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    Housework& work = housework_[i];
    if (work.index_due) post_reconcile(i);
    if (rights) work.rights_due = true;
    if (!work.rights_due && young_.due(i, monotonic_ms()).empty()) continue;
    if (work.posted.exchange(true)) continue;
    if (!samples_.post(i, [this, i] { do_housework(i); })) work.posted = false;
  }
  if (monotonic_ms() < next_sweep_ms_ || job_sweep_posted_.exchange(true)) return;
  next_sweep_ms_ = monotonic_ms() + kJobSweepPeriodMs;
  errands_.post([this, runtime = config_.runtime + "/"] {
    sweep_jobs(runtime + kJobsDirectory, runtime + kReportsDirectory);
    prune_reports(runtime + kReportsDirectory);
    job_sweep_posted_ = false;
  });
}

bool Service::stop() {
  stopping_ = true;
  bool watched = written_.stop(Filler::kStopLimit);
  bool told = changes_.stop(Filler::kStopLimit);
  store_.health().stop();
  reads_.stop();
  bool swept = sweep_.stop();
  scrubs_.stop();
  store_.give_up_reconciling();
  reconciling_.stop();
  bool sampled = samples_.stop(Filler::kStopLimit);
  bool asked = questions_.stop(Filler::kStopLimit);
  long_errands_.stop();
  errands_.stop();
  return filler_.stop() && sampled && asked && swept && watched && told;
}

bool Service::stop_writing() {
  std::uint64_t waiting = writer_.figures().waiting, open = written_.count();
  if (waiting + open > 0) {
    log_line(LogLevel::kWarn, "frames_not_pushed",
             {{"waiting", std::to_string(waiting)},
              {"being_written", std::to_string(open)},
              {"what", "the origin has them"},
              {"hint", "zazenctl push DATASET"}});
  }
  return writer_.stop();
}

}  // namespace zazen
