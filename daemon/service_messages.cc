// What each message of a client means: one handler for each row of kMessages
// (bodhi/messages.h), which also says who may send it and what it names.
//
// Names from outside count only if they are a configured dataset's path, letter by letter,
// and a name of its template; so none can lead anywhere else.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "bodhi/packed_listing.h"
#include "daemon/origin_way.h"
#include "daemon/scrub.h"
#include "daemon/service.h"
#include "daemon/shortage.h"
#include "daemon/status.h"

namespace zazen {
namespace {

constexpr off_t kLargestListing = off_t{1} << 27;
constexpr std::uint32_t kOnlyQuestion = 0;
constexpr std::int64_t kScrubPatienceMs = 200;

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Body>
Body body_of(const Packet& packet) {
  Body body;
  std::memcpy(&body, packet.bytes.data() + sizeof(MessageHeader), sizeof body);
  return body;
}

}  // namespace

template <class Work>
auto Service::answering(const Asked& asked, Work work) {
  return [this, asked, work = std::move(work)] {
    if (!despite_shortage(work)) answer(asked, ENOMEM);
  };
}

template <>
void Service::handle<MessageType::kFill>(Request& request) {
  submit(request, FrameKind::kAlien);
}

template <>
void Service::handle<MessageType::kPush>(Request& request) {
  submit(request, FrameKind::kNative);
}

template <>
void Service::handle<MessageType::kPushContent>(Request& request) {
  submit(request, FrameKind::kNative, true);
}

void Service::submit(Request& request, FrameKind kind, bool is_content) {
  const Asked& asked = request.asked;
  const bool is_idle = (request.packet.header().flags & kNotYetOpened) != 0;
  FillRequest fill;
  fill.dataset = request.dataset;
  fill.seq = request.seq;
  fill.kind = kind;
  fill.is_content = is_content;
  fill.wanted = is_idle ? Wanted::kLater : Wanted::kNow;
  fill.origin = std::move(request.packet.passed);
  fill.client = asked.peer;
  if (asked.is_answered) {
    fill.done = [this, asked](int status) { answer(asked, status); };
  }
  if (filler_.submit(fill)) return;
  request.packet.passed = std::move(fill.origin);
  request.is_put_off = true;
}

// A client that may not change the frame has perhaps seen that it was changed: it is compared.
// A change that is not dealt with casts doubt on the dataset: opens are checked until all
// copies are compared.
template <>
void Service::handle<MessageType::kInvalidate>(Request& request) {
  const Asked asked = request.asked;
  const std::uint32_t dataset = request.dataset, flags = request.packet.header().flags;
  const FrameSeq seq = request.seq;
  auto or_doubt = [=, this](auto work) {
    return [=, this] {
      if (despite_shortage(work)) return;
      until_no_shortage([&] { doubt_and_tell(dataset); });
      answer(asked, ENOMEM);
    };
  };
  auto errand = or_doubt([=, this] {
    if ((flags & kOpenForWriting) != 0) return open_for_writing(asked, dataset, seq);
    invalidate(asked, dataset, seq, (flags & kFoundStale) != 0);
  });
  if (asked.is_own_user()) {
    errands_.post(errand);
    return;
  }
  auto question = or_doubt([=, this] {
    const DatasetConfig& config = config_.datasets[dataset];
    if (may_change(*asked.peer, config, store_.name_of(dataset, seq))) {
      errands_.post(errand);
      return;
    }
    int refusal = ask_permission(*asked.peer, Wish::kSearch, config);
    if (refusal == 0 && store_.find(dataset, seq)) {
      SampleResult result = compare_frames(store_, dataset, {seq});
      if (!result.stale.empty()) sweep_.distrust(dataset);
      settle(dataset, result);
    }
    answer(asked, refusal);
  });
  if (questions_.post(dataset, question)) return;
  doubt_and_tell(dataset);
  answer(asked, EAGAIN);
}

// A fill under way sees the mark, a published copy is removed: in this order nothing slips
// through.
void Service::invalidate(const Asked& asked, std::uint32_t dataset, FrameSeq seq,
                         bool found_stale) {
  if (found_stale) sweep_.distrust(dataset);
  const char* why = found_stale ? PeerChanges::kDiffered : PeerChanges::kChanged;
  answer(asked, drop_changed(dataset, seq, asked.peer, why));
}

template <>
void Service::handle<MessageType::kSample>(Request& request) {
  const std::uint32_t dataset = request.dataset;
  auto compare_for_all = [this, dataset] {
    std::vector<Asked> askers = comparisons_.take(dataset);
    int status = ENOMEM;
    despite_shortage([&] { status = sample(dataset); });
    for (const Asked& one : askers) answer(one, status);
  };
  auto post = [&] { return samples_.post(dataset, compare_for_all); };
  if (!comparisons_.add(dataset, request.asked, post)) answer(request.asked, EAGAIN);
}

template <>
void Service::handle<MessageType::kEvict>(Request& request) {
  const auto body = body_of<EvictBody>(request.packet);
  Store::Selection selection{body.first, body.last, (body.what & kEvictNatives) != 0,
                             (body.what & kEvictAliens) != 0, (body.what & kEvictDryRun) != 0};
  auto evict = [this, asked = request.asked, dataset = request.dataset, selection] {
    Store::Evicted evicted = store_.evict(dataset, selection);
    answer(asked, evicted.status,
           as_bytes(EvictReply{evicted.gone.frames, evicted.gone.bytes, evicted.pinned}));
  };
  long_errands_.post(answering(request.asked, evict));
}

template <>
void Service::handle<MessageType::kPin>(Request& request) {
  pin(request, true);
}

template <>
void Service::handle<MessageType::kUnpin>(Request& request) {
  pin(request, false);
}

void Service::pin(const Request& request, bool pinned) {
  const auto body = body_of<EvictBody>(request.packet);
  if (body.first > body.last) return answer(request.asked, EINVAL);
  FrameRange range{body.first, body.last};
  auto work = [this, asked = request.asked, dataset = request.dataset, range, pinned] {
    Amount held;
    int code = store_.pin(dataset, range, pinned, &held);
    answer(asked, code, as_bytes(EvictReply{held.frames, held.bytes, 0}));
  };
  errands_.post(answering(request.asked, work));
}

template <>
void Service::handle<MessageType::kVerify>(Request& request) {
  auto verify = [this, asked = request.asked, dataset = request.dataset,
                 body = body_of<VerifyBody>(request.packet)] {
    ScrubbedPiece piece =
        scrub_piece(store_, dataset, body.first, body.last, kScrubPatienceMs, stopping_);
    std::string reply = as_bytes(piece.figures);
    for (const VerifyFinding& finding : piece.findings) reply += as_bytes(finding);
    answer(asked, 0, std::move(reply));
  };
  scrubs_.post(answering(request.asked, verify));
}

template <>
void Service::handle<MessageType::kReadIn>(Request& request) {
  reads_.ask(request.dataset, request.seq,
             [this, asked = request.asked](int status) { answer(asked, status); });
}

template <>
void Service::handle<MessageType::kHistory>(Request& request) {
  answer(request.asked, 0, changes_.history(request.dataset, request.seq));
}

template <>
void Service::handle<MessageType::kWritten>(Request& request) {
  const Asked& asked = request.asked;
  if (!config_.datasets[request.dataset].push) return answer(asked, EOPNOTSUPP);
  WrittenFrame written{request.dataset, request.seq, asked.peer, nullptr};
  if (asked.is_answered) {
    written.done = [this, asked](int status) { answer(asked, status); };
  }
  written_.take(std::move(written));
}

template <>
void Service::handle<MessageType::kPeerNotice>(Request& request) {
  auto take = [this, asked = request.asked,
               notice = request.packet.bytes.substr(sizeof(MessageHeader))] {
    answer(asked, changes_.take(notice));
  };
  errands_.post(answering(request.asked, take));
}

template <>
void Service::handle<MessageType::kStatus>(Request& request) {
  auto answer_for_all = [this] {
    answer_all(statuses_.take(kOnlyQuestion), [this]() -> Content {
      std::int64_t uptime_seconds = (monotonic_ms() - started_ms_) / 1000;
      std::string text =
          status_json(config_, store_, publisher_, filler_, push_counts_, sweep_.progress(),
                      written_, writer_, changes_, uptime_seconds, reads_.copies_read());
      return {{}, content_fd(text.data(), text.size())};
    });
  };
  statuses_.add(kOnlyQuestion, request.asked, [&] { return errands_.post(answer_for_all); });
}

// Of all datasets, what the answer is depends on who asks.
template <>
void Service::handle<MessageType::kList>(Request& request) {
  const std::uint32_t dataset = request.dataset;
  if (dataset == kAllDatasets && !request.asked.is_own_user()) {
    long_errands_.post([this, asked = request.asked] {
      answer_all({asked}, [&] { return list_for(asked, kAllDatasets); });
    });
    return;
  }
  auto answer_for_all = [this, dataset] {
    const std::vector<Asked> askers = lists_.take(dataset);
    answer_all(askers, [&] { return list_for(askers.front(), dataset); });
  };
  lists_.add(dataset, request.asked, [&] { return long_errands_.post(answer_for_all); });
}

// Datasets that the asker may not list, or whose origin does not say, are left out.
Service::Content Service::list_for(const Asked& first, std::uint32_t dataset) {
  const bool all = dataset == kAllDatasets;
  std::vector<ListRecord> records;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (all ? config_.datasets[i].removed.get() : dataset != i) continue;
    auto question = [peer = first.peer, config = config_.datasets[i]] {
      return ask_permission(*peer, Wish::kList, config);
    };
    bool known = !all || first.is_own_user();
    if (!known && origins().ask(i, question, Filler::kOriginLimit) != 0) continue;
    for (const StoredFrame& frame : store_.list(i)) {
      records.push_back({frame.seq, frame.held.bytes, i, frame.held.kind,
                         static_cast<std::uint16_t>(frame.pinned ? 1 : 0)});
    }
  }
  return {as_bytes(ListReply{records.size()}),
          content_fd(records.data(), records.size() * sizeof(ListRecord))};
}

template <>
void Service::handle<MessageType::kKeepListing>(Request& request) {
  auto fd = std::make_shared<UniqueFd>(std::move(request.packet.passed));
  auto keep = [this, asked = request.asked, dataset = request.dataset, fd] {
    answer(asked, keep_listing(dataset, fd->get()));
  };
  bool posted = samples_.post(request.dataset, answering(request.asked, keep));
  if (!posted) answer(request.asked, EAGAIN);
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
  ReachedDirectories reached;
  if (store_.serves_all_users()) {
    reached = OriginWay(frame_directory(config.path, config.name), "", nullptr).directories();
    if (reached.back().places.empty() || reached.back().places.back().second != now->ino) {
      return ESTALE;
    }
    store_.expect_mirrored(dataset, reached);
  }
  return store_.keep_listing(dataset, encoded, reached);
}

Service::Taken Service::take(std::uint64_t client, const Peer& peer, Packet& packet) {
  static constexpr auto kHandlers =
      handlers_of(std::make_index_sequence<std::size(kMessages)>());
  const MessageRule& rule = packet.rule();
  const Handler handler = kHandlers[static_cast<std::size_t>(&rule - kMessages)];
  if (handler == nullptr) return Taken::kNonsense;
  auto request = std::make_shared<Request>();
  request->asked = {client, packet.header().request, peer, packet.is_answered()};
  if (int refusal = read_names(rule, packet, request.get()); refusal != 0) {
    answer(request->asked, refusal);
    return Taken::kYes;
  }
  request->packet = std::move(packet);
  const bool is_allowed = rule.wish == Wish::kNone || request->dataset == kAllDatasets ||
                          request->asked.is_own_user();
  if (is_allowed) {
    (this->*handler)(*request);
    if (!request->is_put_off) return Taken::kYes;
    packet = std::move(request->packet);
    return Taken::kLater;
  }
  auto question = [this, request, handler, wish = rule.wish] {
    const DatasetConfig& config = config_.datasets[request->dataset];
    int refusal = ask_permission(*request->asked.peer, wish, config);
    if (refusal != 0) return answer(request->asked, refusal);
    (this->*handler)(*request);
  };
  bool posted = questions_.post(request->dataset, answering(request->asked, question));
  if (!posted) answer(request->asked, EAGAIN);
  return Taken::kYes;
}

int Service::read_names(const MessageRule& rule, const Packet& packet, Request* out) const {
  const Asked& asked = out->asked;
  if (rule.from == Sender::kOwnUser && !asked.is_own_user() && asked.peer->uid != 0) {
    return EPERM;
  }
  MessageNames names = message_names(packet.bytes.data());
  if (names.dataset_length == 0) return 0;
  std::optional<std::uint32_t> dataset = find_dataset(names.dataset, names.dataset_length);
  if (!dataset || (config_.datasets[*dataset].removed && !rule.removed_too)) return ENOENT;
  out->dataset = *dataset;
  const FrameName& frame_name = config_.datasets[*dataset].name;
  bool is_frame =
      names.name_length == 0 || frame_name.match(names.name, names.name_length, &out->seq);
  return is_frame ? 0 : EINVAL;
}

void Service::answer(const Asked& asked, int status, std::string body) {
  if (!asked.is_answered) return;
  outbox_.post(Answer{asked.client, asked.request, status, std::move(body), nullptr});
}

template <class Make>
void Service::answer_all(const std::vector<Asked>& askers, Make make) {
  Content content;
  std::shared_ptr<const UniqueFd> file;
  despite_shortage([&] {
    content = make();
    if (content.file.valid()) file = std::make_shared<const UniqueFd>(std::move(content.file));
  });
  for (const Asked& asked : askers) {
    const bool told =
        file && despite_shortage([&] {
          outbox_.post(Answer{asked.client, asked.request, 0, content.body, file});
        });
    if (!told) answer(asked, ENOMEM);
  }
}

}  // namespace zazen
