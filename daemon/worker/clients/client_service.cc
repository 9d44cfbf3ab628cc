// The meaning of each message of a client: one handler for each row of kMessages
// (bodhi/lean/requests/messages.h). The table also has the allowed senders and the names in a
// message.
//
// A name from a client counts only if it is a configured dataset's path, byte by byte, or a
// name of its template. So no name can lead anywhere else.
#include "daemon/worker/clients/client_service.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "bodhi/lean/system/raw_call.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/origins/origin.h"
#include "daemon/worker/origins/origin_way.h"
#include "daemon/worker/origins/permission.h"

namespace zazen {
namespace {

constexpr std::uint64_t kOnlyQuestion = 0;
constexpr std::size_t kMostAdditions = 16;  // that wait

template <class Body>
Body body_of(const Packet& packet) {
  Body body;
  std::memcpy(&body, packet.bytes.data() + sizeof(MessageHeader), sizeof body);
  return body;
}

// A watched frame has a descriptor open, as a queued fill has.
WriteWatcher::Limits limits_of(std::size_t queue_limit) {
  WriteWatcher::Limits limits;
  limits.watched = std::min(limits.watched, queue_limit / 4);
  return limits;
}

}  // namespace

ClientService::ClientService(const Config& config, CacheLink& link, std::size_t queue_limit,
                             bool is_own_user)
    : config_(config),
      link_(link),
      is_own_user_(is_own_user),
      filler_(config, link, queue_limit,
              {.may_push =
                   [this](std::uint32_t dataset, const std::string& name) {
                     return may_change_frame(dataset, name);
                   },
               .on_room = [this] { reply_queue_.wake(); }}),
      problems_(config),
      doubts_(
          {.may_search =
               [this](std::uint32_t dataset) {
                 // A reload is adding the dataset.
                 if (dataset >= config_.datasets.size()) return EAGAIN;
                 return permission(Wish::kSearch, dataset);
               },
           .tell =
               [this](std::uint32_t dataset, Doubts::Why why, const Doubts::Settled& settled) {
                 if (dataset >= config_.datasets.size()) return settled();
                 auto told = [settled](LinkPacket) { settled(); };
                 why == Doubts::Why::kUntold ? link_.ask_later(Untold{dataset}, told)
                                             : link_.ask_later(Doubt{dataset}, told);
               }}),
      changing_(config,
                {.tell =
                     [this](std::uint32_t dataset, FrameSeq seq, const FrameVersion& version) {
                       tell(Tell{{dataset, seq},
                                 true,
                                 version.gone,
                                 version.size,
                                 version.mtime_ns,
                                 version.ctime_ns});
                     },
                 .distrust =
                     [this](std::uint32_t dataset) {
                       tell(Tell{{dataset, 0}});
                     }},
                ChangingFrames::Limits()),
      written_(
          config,
          {.closed = [this](const ClosedFrame& frame) { writers_gone(frame); },
           .epoch =
               [this](std::uint32_t dataset, FrameSeq seq) {
                 CopyState::Reply state;
                 return link_.ask(CopyState{{dataset, seq}}, &state) == 0 ? state.epoch : 0;
               },
           .may_change =
               [this](std::uint32_t dataset, const std::string& name) {
                 return may_change_frame(dataset, name);
               }},
          limits_of(queue_limit)),
      writer_(config, keys_, [this](const std::string& path, FrameSeq seq) {
        std::optional<std::uint32_t> dataset = find_dataset(path.data(), path.size());
        return dataset && written_.is_open(*dataset, seq);
      }) {}

// ---- Names and rights

int ClientService::read_names(const MessageRule& rule, const Packet& packet,
                              Request* out) const {
  if (rule.from == Sender::kOwnUser && !is_own_user_ && ::geteuid() != 0) return EPERM;
  if (!names_dataset(rule.body)) return 0;
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

std::optional<std::uint32_t> ClientService::find_dataset(const char* path,
                                                         std::size_t length) const {
  std::string_view wanted(path, length);
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].path == wanted) return i;
  }
  return std::nullopt;
}

std::string ClientService::name_of(std::uint32_t dataset, FrameSeq seq) const {
  char name[kMaxTemplate + 32];
  return {name, config_.datasets[dataset].name.format(seq, name, sizeof name)};
}

int ClientService::permission(Wish wish, std::uint32_t dataset) const {
  return is_own_user_ ? 0 : ask_permission(wish, config_.datasets[dataset]);
}

bool ClientService::may_change_frame(std::uint32_t dataset, const std::string& name) const {
  return is_own_user_ || may_change(config_.datasets[dataset], name);
}

// ---- What goes out

void ClientService::answer(const Asked& asked, int status, std::string body) {
  if (!asked.is_answered) return;
  reply_queue_.post(Answer{asked.client, asked.request, status, std::move(body), nullptr});
}

template <class Work>
auto ClientService::answering(const Asked& asked, Work work) {
  return [this, asked, work = std::move(work)] {
    if (!despite_shortage(work)) answer(asked, ENOMEM);
  };
}

template <class Ask>
void ClientService::forward(const Asked& asked, Ask ask) {
  link_.ask_later(std::move(ask), [this, asked](LinkPacket reply) {
    LinkReply<Ask> decoded;
    int status = reply.status;
    if (status == 0 && !decode_link_body(reply.body, &decoded)) status = EBADMSG;
    if constexpr (requires { decoded.body; }) {
      answer(asked, status, std::move(decoded.body));
    } else {
      answer(asked, status);
    }
  });
}

template <class Ask>
void ClientService::forward_content(std::vector<Asked> askers, Ask ask) {
  link_.ask_later(std::move(ask), [this, askers = std::move(askers)](LinkPacket reply) {
    ContentReply content;
    int status = CacheLink::read(reply, &content);
    if (status == 0 && !content.file.valid()) status = ENOMEM;
    std::shared_ptr<const UniqueFd> file;
    if (status == 0) file = std::make_shared<const UniqueFd>(std::move(content.file));
    for (const Asked& asked : askers) {
      if (!asked.is_answered) continue;
      reply_queue_.post(Answer{asked.client, asked.request, status,
                               status == 0 ? content.body : std::string(), file});
    }
  });
}

// ---- Fills

template <>
void ClientService::handle<MessageType::kFill>(Request& request) {
  submit(request, FrameKind::kAlien);
}

template <>
void ClientService::handle<MessageType::kPush>(Request& request) {
  submit(request, FrameKind::kNative);
}

template <>
void ClientService::handle<MessageType::kPushContent>(Request& request) {
  submit(request, FrameKind::kNative, true);
}

// As a program that opens the frame would, with the rights of this user.
template <>
void ClientService::handle<MessageType::kFetch>(Request& request) {
  auto open = [this, asked = request.asked, dataset = request.dataset, seq = request.seq] {
    const DatasetConfig& config = config_.datasets[dataset];
    UniqueFd origin = find_named(config, name_of(dataset, seq), kToRead);
    if (!origin.valid()) return answer(asked, errno);
    FillRequest fill;
    fill.dataset = dataset;
    fill.seq = seq;
    fill.is_idle = true;
    fill.origin = std::move(origin);
    fill.done = [this, asked](int status) { answer(asked, status); };
    if (!filler_.submit(fill)) answer(asked, EAGAIN);
  };
  bool posted = questions_.post(request.dataset, answering(request.asked, open));
  if (!posted) answer(request.asked, EAGAIN);
}

void ClientService::submit(Request& request, FrameKind kind, bool is_content) {
  const Asked& asked = request.asked;
  FillRequest fill;
  fill.dataset = request.dataset;
  fill.seq = request.seq;
  fill.kind = kind;
  fill.is_content = is_content;
  fill.is_idle = (request.packet.header().flags & kNotYetOpened) != 0;
  fill.origin = std::move(request.packet.passed);
  if (asked.is_answered) {
    fill.done = [this, asked](int status) { answer(asked, status); };
  }
  if (filler_.submit(fill)) return;
  request.packet.passed = std::move(fill.origin);
  request.is_put_off = true;
}

// ---- Changes

// A client that may not change the frame may have seen a change: the copy is compared. A change
// that cannot be processed casts doubt on the dataset: opens are checked until all copies have
// been compared.
template <>
void ClientService::handle<MessageType::kInvalidate>(Request& request) {
  const Asked asked = request.asked;
  const std::uint32_t dataset = request.dataset, flags = request.packet.header().flags;
  const FrameSeq seq = request.seq;
  auto work = [=, this] {
    if (may_change_frame(dataset, name_of(dataset, seq))) {
      return change(asked, dataset, seq, flags);
    }
    int refusal = permission(Wish::kSearch, dataset);
    if (refusal != 0) return answer(asked, refusal);
    forward(asked, Check{{dataset, seq}, true});
  };
  auto doubt = [=, this](int status) {
    doubts_.cast(dataset, Doubts::Why::kLost, [=, this] { answer(asked, status); });
  };
  auto or_doubt = [=] {
    if (!despite_shortage(work)) until_no_shortage([&] { doubt(ENOMEM); });
  };
  if (!changes_.post(dataset, or_doubt)) doubt(EAGAIN);
}

void ClientService::change(const Asked& asked, std::uint32_t dataset, FrameSeq seq,
                           std::uint32_t flags) {
  if ((flags & kOpenForWriting) != 0) {
    return open_for_writing(dataset, seq, [this, asked](int status) { answer(asked, status); });
  }
  // These asks run one after the other: many at once would delay other asks to zazend.
  const int status = link_.ask(Changed{{dataset, seq}, (flags & kFoundStale) != 0});
  if (config_.has_peers) changing_.take(dataset, seq);
  answer(asked, status);
}

template <>
void ClientService::handle<MessageType::kWritten>(Request& request) {
  const Asked& asked = request.asked;
  if (!is_pushed(request.dataset, request.seq)) return answer(asked, EOPNOTSUPP);
  WrittenFrame written{request.dataset, request.seq, nullptr};
  if (asked.is_answered) {
    written.done = [this, asked](int status) { answer(asked, status); };
  }
  written_.take(std::move(written));
}

template <>
void ClientService::handle<MessageType::kPeerNotice>(Request& request) {
  forward(request.asked, Notice{request.packet.bytes.substr(sizeof(MessageHeader))});
}

template <>
void ClientService::handle<MessageType::kHistory>(Request& request) {
  forward(request.asked, History{{request.dataset, request.seq}});
}

template <>
void ClientService::handle<MessageType::kSample>(Request& request) {
  const std::uint32_t dataset = request.dataset;
  comparisons_.add(dataset, request.asked, [&] { compare_for_all(dataset); });
}

void ClientService::compare_for_all(std::uint32_t dataset) {
  link_.ask_later(SampleAsk{dataset},
                  [this, dataset, askers = comparisons_.begin(dataset)](LinkPacket reply) {
                    for (const Asked& one : askers) answer(one, reply.status);
                    if (!comparisons_.end(dataset)) return;
                    until_no_shortage([&] { compare_for_all(dataset); });
                  });
}

// ---- Requests of people

template <>
void ClientService::handle<MessageType::kEvict>(Request& request) {
  const auto body = body_of<EvictBody>(request.packet);
  forward(request.asked, Evict{{request.dataset, body.first, body.last}, body.what});
}

template <>
void ClientService::handle<MessageType::kPin>(Request& request) {
  pin(request, true);
}

template <>
void ClientService::handle<MessageType::kUnpin>(Request& request) {
  pin(request, false);
}

void ClientService::pin(const Request& request, bool pinned) {
  const auto body = body_of<EvictBody>(request.packet);
  forward(request.asked, Pin{{request.dataset, body.first, body.last}, pinned});
}

template <>
void ClientService::handle<MessageType::kVerify>(Request& request) {
  const auto body = body_of<VerifyBody>(request.packet);
  forward(request.asked, Verify{{request.dataset, body.first, body.last}});
}

template <>
void ClientService::handle<MessageType::kReadIn>(Request& request) {
  forward(request.asked, ReadIn{{request.dataset, request.seq}});
}

template <>
void ClientService::handle<MessageType::kStatus>(Request& request) {
  statuses_.add(kOnlyQuestion, request.asked, [&] { tell_status(); });
}

void ClientService::tell_status() {
  errands_.post([this] {
    const std::vector<Asked> askers = statuses_.begin(kOnlyQuestion);
    const bool asked = despite_shortage([&] {
      forward_content(askers, StatusAsk{find_problems(), figures()});
    });
    for (const Asked& one : asked ? std::vector<Asked>() : askers) answer(one, ENOMEM);
    if (statuses_.end(kOnlyQuestion)) until_no_shortage([&] { tell_status(); });
  });
}

template <>
void ClientService::handle<MessageType::kReload>(Request& request) {
  forward_content({request.asked}, ReloadAsk{});
}

template <>
void ClientService::handle<MessageType::kList>(Request& request) {
  const std::uint32_t dataset = request.dataset;
  lists_.add(dataset, request.asked, [&] { list(dataset); });
}

// A list of all datasets leaves out those that the user may not list.
void ClientService::list(std::uint32_t dataset) {
  errands_.post([this, dataset] {
    const std::vector<Asked> askers = lists_.begin(dataset);
    const bool asked = despite_shortage([&] {
      ListAsk ask;
      for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
        const bool all = dataset == kAllDatasets;
        if (all ? config_.datasets[i].removed.get() : dataset != i) continue;
        if (all && !is_own_user_ && !problems_.may_list(i)) continue;
        ask.datasets.push_back(i);
      }
      forward_content(askers, std::move(ask));
    });
    for (const Asked& one : asked ? std::vector<Asked>() : askers) answer(one, ENOMEM);
    if (lists_.end(dataset)) until_no_shortage([&] { list(dataset); });
  });
}

// A directory may be on a file system that hangs: such looks delay one another only.
template <>
void ClientService::handle<MessageType::kAddDataset>(Request& request) {
  const MessageNames names = message_names(request.packet.bytes.data());
  AddDataset ask;
  ask.path.assign(names.dataset, names.dataset_length);
  ask.frames.assign(names.name, names.name_length);
  ask.takes_away = (request.packet.header().flags & kTakeAway) != 0;
  if (ask.takes_away) return forward(request.asked, std::move(ask));
  auto look = [this, asked = request.asked, ask = std::move(ask)] {
    const int refusal = check_own_directory(ask.path, is_own_user_);
    if (refusal != 0) return answer(asked, refusal);
    forward(asked, ask);
  };
  if (!additions_.post(answering(request.asked, std::move(look)), kMostAdditions)) {
    answer(request.asked, EAGAIN);
  }
}

// ---- Listings (D20)

template <>
void ClientService::handle<MessageType::kKeepListing>(Request& request) {
  auto fd = std::make_shared<UniqueFd>(std::move(request.packet.passed));
  auto keep = [this, asked = request.asked, dataset = request.dataset, fd] {
    answer(asked, keep_listing(dataset, fd->get()));
  };
  bool posted = samples_.post(request.dataset, answering(request.asked, keep));
  if (!posted) answer(request.asked, EAGAIN);
}

// ---- Each message

ClientService::Taken ClientService::take(std::uint64_t client, Packet& packet) {
  static constexpr auto kHandlers =
      handlers_of(std::make_index_sequence<std::size(kMessages)>());
  const MessageRule& rule = packet.rule();
  const Handler handler = kHandlers[static_cast<std::size_t>(&rule - kMessages)];
  if (handler == nullptr) return Taken::kNonsense;
  auto request = std::make_shared<Request>();
  request->asked = {client, packet.header().request, packet.is_answered()};
  if (int refusal = read_names(rule, packet, request.get()); refusal != 0) {
    answer(request->asked, refusal);
    return Taken::kYes;
  }
  request->packet = std::move(packet);
  const bool is_allowed =
      rule.wish == Wish::kNone || request->dataset == kAllDatasets || is_own_user_;
  if (is_allowed) {
    (this->*handler)(*request);
    if (!request->is_put_off) return Taken::kYes;
    packet = std::move(request->packet);
    return Taken::kLater;
  }
  auto question = [this, request, handler, wish = rule.wish] {
    int refusal = permission(wish, request->dataset);
    if (refusal != 0) return answer(request->asked, refusal);
    (this->*handler)(*request);
  };
  bool posted = questions_.post(request->dataset, answering(request->asked, question));
  if (!posted) answer(request->asked, EAGAIN);
  return Taken::kYes;
}

// ---- The worker's life

void ClientService::doubt_all() {
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i)
    doubts_.cast(i, Doubts::Why::kLost);
}

void ClientService::take_untold(const std::vector<std::uint32_t>& datasets) {
  for (std::uint32_t dataset : datasets) doubts_.cast(dataset, Doubts::Why::kUntold);
}

// While the origin does not answer, its last answer counts.
void ClientService::take_used(const std::vector<std::uint32_t>& datasets) {
  for (std::uint32_t dataset : datasets) {
    if (dataset >= config_.datasets.size()) continue;
    Use& use = uses_[dataset];
    if (use.is_asked.exchange(true)) {
      if (use.may_search) link_.tell(Used{dataset});
      continue;
    }
    auto ask = [this, dataset, &use] {
      despite_shortage([&] {
        use.may_search = permission(Wish::kSearch, dataset) == 0;
        if (use.may_search) link_.tell(Used{dataset});
      });
      use.is_asked = false;
    };
    if (!questions_.post(dataset, ask)) use.is_asked = false;
  }
}

void ClientService::tick() {
  writer_.tick();
  doubts_.ask_again();
}

// This worker tells the peers itself if that is its task, or asks zazend.
void ClientService::tell(const Tell& news) {
  std::unique_lock lock(notices_mutex_);
  if (notices_) return give_notice(news);
  lock.unlock();
  link_.tell(news);
}

void ClientService::tell_peers(const TellPeers& order) {
  learn_push_key();
  std::lock_guard lock(notices_mutex_);
  if (!notices_) notices_ = std::make_unique<ChangeNotices>(config_, order.life, keys_);
  give_notice(order.news);
}

void ClientService::give_notice(const Tell& news) {
  if (news.dataset >= config_.datasets.size()) return;
  if (news.is_known) {
    notices_->tell(news.dataset, news.seq,
                   {news.is_gone, news.size, news.mtime_ns, news.ctime_ns});
  } else {
    notices_->distrust(news.dataset);
  }
}

void ClientService::renew_peers(const Config& next) {
  if (has_push_key_.exchange(false)) learn_push_key();
  writer_.renew(next);
  std::lock_guard lock(notices_mutex_);
  if (notices_) notices_->renew(next);
}

WorkerFigures ClientService::figures() {
  WorkerFigures figures;
  figures.fills_dropped = filler_.dropped();
  figures.fills_queued = filler_.queued();
  figures.being_written = written_.count();
  figures.written_dropped = written_.dropped();
  figures.watched = changing_.count();
  const Writer::Figures pushes = writer_.figures();
  figures.queued = pushes.queued;
  figures.pushed = pushes.pushed;
  figures.dropped = pushes.dropped;
  figures.left = pushes.left;
  figures.waiting = pushes.waiting;
  figures.bytes = pushes.bytes;
  for (const Writer::NodeFigures& node : writer_.nodes()) {
    figures.nodes.push_back({node.peer, node.pushed, node.bytes, node.answers,
                             node.known_at.time_since_epoch().count()});
  }
  std::lock_guard lock(notices_mutex_);
  if (notices_) figures.peers = notices_->figures();
  return figures;
}

// A worker that tells the peers does not end.
bool ClientService::is_idle() {
  std::lock_guard lock(notices_mutex_);
  return !notices_ && filler_.under_way() == 0 && written_.is_empty() &&
         changing_.count() == 0 && writer_.figures().waiting == 0 && doubts_.is_empty();
}

void ClientService::stop(std::chrono::milliseconds limit) {
  written_.stop(std::chrono::milliseconds(0));
  changing_.stop(std::chrono::milliseconds(0));
  filler_.stop(limit);
  {
    std::lock_guard lock(notices_mutex_);
    if (notices_) notices_->stop(limit);
  }
  const std::uint64_t waiting = writer_.figures().waiting, open = written_.count();
  if (waiting + open > 0) {
    log_line(LogLevel::kWarn, "frames_not_pushed",
             {{"waiting", std::to_string(waiting)},
              {"being_written", std::to_string(open)},
              {"what", "the origin has them"},
              {"hint", "zazenctl push DATASET"}});
  }
}

}  // namespace zazen
