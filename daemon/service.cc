// Names from outside count only if they are a configured dataset's path, letter by letter,
// and a name of its template; so none can lead anywhere else.
#include "daemon/service.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "bodhi/listing.h"
#include "daemon/job_sweep.h"
#include "daemon/log.h"
#include "daemon/status.h"

namespace zazen {
namespace {

constexpr std::int64_t kRightsPeriodMs = 10'000;
constexpr off_t kLargestListing = off_t{1} << 30;

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Service::Service(const Config& config, Store& store, Publisher& publisher,
                 std::size_t queue_limit)
    : config_(config),
      store_(store),
      publisher_(publisher),
      started_ms_(monotonic_ms()),
      next_sweep_ms_(started_ms_ + kJobSweepPeriodMs),
      young_([&publisher](std::uint32_t dataset, std::uint32_t copies) {
        publisher.note_young(dataset, copies);
      }),
      filler_(store, young_, queue_limit, [this] { outbox_.wake(); }) {
  for (const auto& [dataset, seq] : store.fetched_lately()) {
    young_.note(dataset, seq, started_ms_);
  }
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    // Who may reach the copies decides what the index tells of them.
    samples_.post([this, i] {
      store_.mirror_rights(i);
      errands_.post([this, i] { store_.index_copies(i, stopping_); });
    });
  }
}

bool Service::is_answered(const MessageHeader& header) {
  return header.type != MessageType::kFill || (header.flags & kWaitForIt) != 0;
}

Service::Taken Service::take(std::uint64_t client, const Peer& peer, Packet& packet) {
  MessageHeader header = packet.header();
  Asked asked{client, header.request, peer};
  switch (header.type) {
    case MessageType::kFill:
    case MessageType::kPush:
    case MessageType::kInvalidate:
      return take_frame(asked, packet);
    case MessageType::kSample:
    case MessageType::kList:
    case MessageType::kKeepListing:
      take_dataset(asked, packet);
      return Taken::kYes;
    case MessageType::kEvict:
      take_evict(asked, packet);
      return Taken::kYes;
    case MessageType::kStatus:
      errands_.post([this, asked] { answer_status(asked); });
      return Taken::kYes;
    case MessageType::kReply:
      break;
  }
  return Taken::kNonsense;
}

Service::Taken Service::take_frame(const Asked& asked, Packet& packet) {
  MessageHeader header = packet.header();
  FrameNames names = frame_names(packet.bytes.data());
  std::optional<std::uint32_t> dataset = find_dataset(names.dataset, names.dataset_length);
  FillRequest fill;
  int refusal = 0;
  if (!dataset) {
    refusal = ENOENT;
  } else if (!config_.datasets[*dataset].name.match(names.name, names.name_length, &fill.seq)) {
    refusal = EINVAL;
  } else if (header.type != MessageType::kInvalidate && !packet.passed.valid()) {
    refusal = EBADF;
  }
  if (refusal != 0) {
    if (is_answered(header)) answer(asked, refusal);
    return Taken::kYes;
  }
  if (header.type == MessageType::kInvalidate) {
    post_invalidate(asked, *dataset, fill.seq);
    return Taken::kYes;
  }
  fill.dataset = *dataset;
  fill.kind = header.type == MessageType::kPush ? FrameKind::kNative : FrameKind::kAlien;
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
  std::optional<std::uint32_t> dataset = find_dataset(names.dataset, names.dataset_length);
  bool all = type == MessageType::kList && names.dataset_length == 0;
  if (!dataset && !all) return answer(asked, ENOENT);
  if (type == MessageType::kList) {
    WorkQueue& queue = asked.is_own_user() ? errands_ : questions_;
    queue.post([this, asked, dataset] { answer_list(asked, dataset); });
  } else if (type == MessageType::kSample) {
    post_if_allowed(asked, Wish::kSearch, *dataset, samples_, [this, asked, index = *dataset] {
      sample(index);
      answer(asked, 0);
    });
  } else if (!packet.passed.valid()) {
    answer(asked, EBADF);
  } else {
    auto fd = std::make_shared<UniqueFd>(std::move(packet.passed));
    post_if_allowed(
        asked, Wish::kWrite, *dataset, errands_,
        [this, asked, index = *dataset, fd] { answer(asked, keep_listing(index, fd->get())); });
  }
}

void Service::take_evict(const Asked& asked, const Packet& packet) {
  EvictBody body;
  std::memcpy(&body, packet.bytes.data() + sizeof(MessageHeader), sizeof body);
  const char* path = packet.bytes.data() + sizeof(MessageHeader) + sizeof body;
  std::optional<std::uint32_t> dataset = find_dataset(path, body.dataset_length);
  if (!dataset) return answer(asked, ENOENT);
  Store::Selection selection{body.first, body.last, (body.what & kEvictNatives) != 0,
                             (body.what & kEvictAliens) != 0, (body.what & kEvictDryRun) != 0};
  post_if_allowed(asked, Wish::kManage, *dataset, errands_, [=, this, index = *dataset] {
    Amount amount = store_.evict(index, selection);
    answer(asked, 0, as_bytes(EvictReply{amount.frames, amount.bytes}));
  });
}

void Service::post_if_allowed(const Asked& asked, Wish wish, std::uint32_t dataset,
                              WorkQueue& queue, std::function<void()> errand) {
  if (asked.is_own_user()) return queue.post(std::move(errand));
  questions_.post([=, this, &queue] {
    int refusal = ask_permission(*asked.peer, wish, config_.datasets[dataset]);
    if (refusal != 0) return answer(asked, refusal);
    queue.post(errand);
  });
}

// Who may not change the frame has perhaps seen that it was changed: it is looked at.
void Service::post_invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq) {
  auto errand = [=, this] { invalidate(asked, dataset, seq); };
  if (asked.is_own_user()) return errands_.post(errand);
  questions_.post([=, this] {
    const DatasetConfig& config = config_.datasets[dataset];
    if (may_change(*asked.peer, config, store_.name_of(dataset, seq))) {
      return errands_.post(errand);
    }
    int refusal = ask_permission(*asked.peer, Wish::kSearch, config);
    if (refusal == 0 && store_.find(dataset, seq)) {
      drop_stale(dataset, compare_frames(store_, dataset, {seq}));
    }
    answer(asked, refusal);
  });
}

// What is under way sees the mark, what is published is removed: in this order nothing slips
// through.
void Service::invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq) {
  young_.note(dataset, seq, monotonic_ms());
  filler_.cancel(dataset, seq);
  store_.drop(dataset, std::span(&seq, 1));
  answer(asked, 0);
}

void Service::answer(const Asked& asked, int status, std::string body, UniqueFd passed) {
  outbox_.post(Answer{asked.client, asked.request, status, std::move(body), std::move(passed)});
}

std::optional<std::uint32_t> Service::find_dataset(const char* path, std::size_t length) const {
  std::string_view wanted(path, length);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].path == wanted) return i;
  }
  return std::nullopt;
}

void Service::sample(std::uint32_t dataset) {
  store_.mirror_rights(dataset);
  SampleResult result = compare_sample(store_, dataset);
  drop_stale(dataset, result);
  if (result.status == 0) publisher_.note_sample(dataset, !result.stale.empty());
}

void Service::look_at_young(std::uint32_t dataset) {
  std::int64_t now_ms = monotonic_ms();
  std::vector<FrameSeq> due = young_.due(dataset, now_ms);
  if (due.empty()) return;
  std::vector<FrameSeq> held;
  std::ranges::copy_if(due, std::back_inserter(held),
                       [&](FrameSeq seq) { return store_.find(dataset, seq).has_value(); });
  SampleResult result = compare_frames(store_, dataset, held);
  if (result.status != 0) return;  // the origin is not there: they stay young
  drop_stale(dataset, result);
  young_.settle(dataset, due, now_ms);
}

void Service::drop_stale(std::uint32_t dataset, const SampleResult& result) {
  if (result.stale.empty()) return;
  log_line(LogLevel::kWarn, "stale_copies",
           {{"dataset", config_.datasets[dataset].path},
            {"compared", std::to_string(result.compared)},
            {"stale", std::to_string(result.stale.size())}});
  for (FrameSeq seq : result.stale) filler_.cancel(dataset, seq);
  store_.drop(dataset, result.stale);
}

void Service::answer_list(const Asked& asked, std::optional<std::uint32_t> dataset) {
  std::vector<ListRecord> records;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (dataset && *dataset != i) continue;
    int refusal = ask_permission(*asked.peer, Wish::kList, config_.datasets[i]);
    if (refusal != 0 && dataset) return answer(asked, refusal);
    if (refusal != 0) continue;
    for (const StoredFrame& frame : store_.list(i)) {
      records.push_back({frame.seq, frame.held.bytes, i, frame.held.kind, 0});
    }
  }
  UniqueFd fd = content_fd(records.data(), records.size() * sizeof(ListRecord));
  if (!fd.valid()) return answer(asked, errno);
  answer(asked, 0, as_bytes(ListReply{records.size()}), std::move(fd));
}

void Service::answer_status(const Asked& asked) {
  std::int64_t uptime_seconds = (monotonic_ms() - started_ms_) / 1000;
  std::string text = status_json(config_, store_, publisher_, filler_.counts(), uptime_seconds);
  UniqueFd fd = content_fd(text.data(), text.size());
  if (!fd.valid()) return answer(asked, errno);
  answer(asked, 0, {}, std::move(fd));
}

int Service::keep_listing(std::uint32_t dataset, int fd) {
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return EINVAL;
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
  Result<Listing> listing = decode_listing(encoded);
  if (!listing.ok()) return EINVAL;
  if (!listing->settled()) return EAGAIN;
  const DatasetConfig& config = config_.datasets[dataset];
  Result<DirectoryIdentity> now = stat_directory(frame_directory(config.path, config.name));
  if (!now.ok()) return now.error().code;
  if (*now != listing->directory) return ESTALE;
  return store_.keep_listing(dataset, encoded);
}

void Service::keep_house() {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (young_.due(i, monotonic_ms()).empty()) continue;
    samples_.post([this, i] { look_at_young(i); });
  }
  if (store_.serves_all_users() && monotonic_ms() >= next_rights_ms_) {
    next_rights_ms_ = monotonic_ms() + kRightsPeriodMs;
    for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
      samples_.post([this, i] { store_.mirror_rights(i); });
    }
  }
  if (monotonic_ms() < next_sweep_ms_) return;
  next_sweep_ms_ = monotonic_ms() + kJobSweepPeriodMs;
  errands_.post([jobs = config_.runtime + "/" + kJobsDirectory] { sweep_jobs(jobs); });
}

void Service::stop() {
  stopping_ = true;
  questions_.stop();
  samples_.stop();
  errands_.stop();
  filler_.stop();
}

}  // namespace zazen
