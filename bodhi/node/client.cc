// Most requests are answered at once: send, then wait for the reply that repeats the request's
// number. A late reply to a request that has timed out is skipped. So a caller collects all
// answers to pushes before it makes another kind of request.
#include "bodhi/node/client.h"

#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "bodhi/common/memory_file.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {

struct ClientReply {
  MessageHeader header = {};
  std::string body;
  UniqueFd fd;                         // of the content; or
  std::optional<std::string> content;  // another machine's
};

namespace {

using Clock = std::chrono::steady_clock;

Error no_answer(int code) {
  // These errors show that the daemon is gone.
  if (code == ENOENT || code == EPIPE || code == ECONNRESET) code = ECONNREFUSED;
  return {code, "the daemon does not answer", "is zazend running? `zazenctl status` tells"};
}

Status send_request(int socket, const std::string& packet, int passed_fd, int timeout_ms) {
  int result = send_message(socket, packet.data(), packet.size(), passed_fd, timeout_ms);
  if (result < 0) return no_answer(-result);
  return Done{};
}

Result<ClientReply> receive_reply(int socket, int timeout_ms) {
  char buffer[kMaxMessage];
  int passed_fd = -1;
  int size = receive_message(socket, buffer, sizeof buffer, &passed_fd, timeout_ms);
  UniqueFd fd(passed_fd);
  if (size < 0) return no_answer(-size);
  if (size == 0) return no_answer(ECONNRESET);
  ClientReply reply;
  if (!message_is_valid(buffer, static_cast<std::size_t>(size))) {
    return Error{EPROTO, "the daemon's answer", {}};
  }
  std::memcpy(&reply.header, buffer, sizeof reply.header);
  if (reply.header.type != MessageType::kReply) return Error{EPROTO, "the daemon's answer", {}};
  reply.body.assign(buffer + sizeof reply.header, reply.header.length);
  reply.fd = std::move(fd);
  return reply;
}

Result<std::string> frame_packet(MessageType type, std::uint64_t request, std::uint32_t flags,
                                 const std::string& dataset, const std::string& name) {
  std::string packet(kMaxMessage, '\0');
  packet.resize(encode_frame_message(type, request, flags, dataset.c_str(), name.c_str(),
                                     packet.data(), packet.size()));
  if (!message_is_valid(packet.data(), packet.size())) {
    return Error{EINVAL, "'" + dataset + "' and '" + name + "' make no request", {}};
  }
  return packet;
}

// A header and a body.
Result<std::string> packet_of(MessageType type, std::uint64_t request, std::string_view body) {
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = type;
  header.length = static_cast<std::uint32_t>(body.size());
  header.request = request;
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet += body;
  if (!message_is_valid(packet.data(), packet.size())) {
    return Error{EINVAL, "not a request", {}};
  }
  return packet;
}

// The same with a body that begins with a range of frames, and the dataset's path.
template <class Body>
Result<std::string> range_packet(MessageType type, std::uint64_t request, const Body& body,
                                 const std::string& dataset) {
  std::string bytes(reinterpret_cast<const char*>(&body), sizeof body);
  auto packet = packet_of(type, request, bytes + dataset);
  if (!packet) return Error{EINVAL, "'" + dataset + "' makes no request", {}};
  return packet;
}

Result<std::string> read_content(ClientReply& reply) {
  if (reply.content) return std::move(*reply.content);
  const UniqueFd& fd = reply.fd;
  struct stat st;
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) {
    return Error{EPROTO, "the daemon's answer", {}};
  }
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  long got = raw_read_at(fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return Error{static_cast<int>(-got), "read the daemon's answer", {}};
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

Result<Client> Client::connect(const std::string& runtime, int timeout_ms) {
  int fd = connect_daemon(runtime.c_str(), timeout_ms);
  if (fd < 0) {
    Error error = no_answer(-fd);
    error.context = runtime + ": " + error.context;
    return error;
  }
  return Client(UniqueFd(fd), timeout_ms);
}

Result<Client> Client::connect_patiently(const std::string& runtime, int timeout_ms) {
  Result<Client> client = connect(runtime, timeout_ms);
  if (client) client->patient_ = runtime;
  return client;
}

bool Client::is_at_work() const {
  if (patient_.empty()) return false;
  Result<Client> probe = connect(patient_, timeout_ms_);
  return probe && probe->status();
}

Client::Client(std::unique_ptr<RequestLink> link) : link_(std::move(link)) {}

Result<ClientReply> Client::exchange(const Result<std::string>& packet, int passed_fd) {
  if (!packet) return packet.error();
  const auto refusal = [](int status) { return Error{status, "the daemon refused", {}}; };
  if (link_) {
    if (passed_fd >= 0) return refusal(EOPNOTSUPP);
    Result<RequestLink::Answer> answer = link_->ask(*packet);
    if (!answer) return answer.error();
    if (answer->status != 0) return refusal(answer->status);
    return ClientReply{{}, std::move(answer->body), {}, std::move(answer->content)};
  }
  auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  MessageHeader request;
  std::memcpy(&request, packet->data(), sizeof request);
  if (auto sent = send_request(socket_.get(), *packet, passed_fd, timeout_ms_); !sent) {
    return sent.error();
  }
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    auto reply = receive_reply(
        socket_.get(), static_cast<int>(std::max(left.count(), decltype(left)::rep{0})));
    if (!reply && reply.error().code == ETIMEDOUT && is_at_work()) {
      deadline = Clock::now() + std::chrono::milliseconds(timeout_ms_);
      continue;
    }
    if (!reply) return reply;
    if (reply->header.request != request.request) continue;
    if (reply->header.status != 0) return refusal(reply->header.status);
    return reply;
  }
}

Result<std::string> Client::status() {
  return ask_for_text(MessageType::kStatus);
}

Result<std::string> Client::reload() {
  return ask_for_text(MessageType::kReload);
}

Result<std::string> Client::ask_for_text(MessageType type) {
  auto packet = packet_of(type, next_request_++, "");
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return read_content(*reply);
}

Result<std::vector<ListRecord>> Client::list(const std::string& dataset) {
  auto packet = frame_packet(MessageType::kList, next_request_++, 0, dataset, "");
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  auto bytes = read_content(*reply);
  if (!bytes) return bytes.error();
  ListReply list;
  if (reply->body.size() != sizeof list) return Error{EPROTO, "the daemon's answer", {}};
  std::memcpy(&list, reply->body.data(), sizeof list);
  if (bytes->size() % sizeof(ListRecord) != 0 ||
      bytes->size() / sizeof(ListRecord) != list.records) {
    return Error{EPROTO, "the daemon's answer", {}};
  }
  std::vector<ListRecord> records(list.records);
  if (!records.empty()) std::memcpy(records.data(), bytes->data(), bytes->size());
  return records;
}

Result<EvictReply> Client::evict(const std::string& dataset, FrameSeq first, FrameSeq last,
                                 std::uint32_t what) {
  return ask_for_range(MessageType::kEvict, dataset, {first, last}, what);
}

Result<EvictReply> Client::pin(const std::string& dataset, FrameRange range, bool pinned) {
  return ask_for_range(pinned ? MessageType::kPin : MessageType::kUnpin, dataset, range, 0);
}

Result<EvictReply> Client::ask_for_range(MessageType type, const std::string& dataset,
                                         FrameRange range, std::uint32_t what) {
  EvictBody body = {range.first, range.last, what, static_cast<std::uint32_t>(dataset.size())};
  auto packet = range_packet(type, next_request_++, body, dataset);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  EvictReply evicted;
  if (reply->body.size() != sizeof evicted) return Error{EPROTO, "the daemon's answer", {}};
  std::memcpy(&evicted, reply->body.data(), sizeof evicted);
  return evicted;
}

Result<Client::Verified> Client::verify(const std::string& dataset, FrameSeq first,
                                        FrameSeq last) {
  VerifyBody body = {first, last, static_cast<std::uint32_t>(dataset.size()), 0};
  auto packet = range_packet(MessageType::kVerify, next_request_++, body, dataset);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  Verified verified = {};
  const std::string& bytes = reply->body;
  if (bytes.size() >= sizeof verified.figures) {
    std::memcpy(&verified.figures, bytes.data(), sizeof verified.figures);
    verified.findings.resize((bytes.size() - sizeof verified.figures) / sizeof(VerifyFinding));
  }
  std::size_t size = sizeof verified.figures + verified.findings.size() * sizeof(VerifyFinding);
  if (bytes.size() != size || verified.findings.size() != verified.figures.findings) {
    return Error{EPROTO, "the daemon's answer", {}};
  }
  if (!verified.findings.empty()) {
    std::memcpy(verified.findings.data(), bytes.data() + sizeof verified.figures,
                size - sizeof verified.figures);
  }
  return verified;
}

Status Client::sample(const std::string& dataset) {
  auto packet = frame_packet(MessageType::kSample, next_request_++, kWaitForIt, dataset, "");
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return Done{};
}

Status Client::keep_listing(const std::string& dataset, const std::string& encoded_listing) {
  auto file = sealed_memory(encoded_listing);
  if (!file) return file.error();
  auto packet = frame_packet(MessageType::kKeepListing, next_request_++, 0, dataset, "");
  auto reply = exchange(packet, file->get());
  if (!reply) return reply.error();
  return Done{};
}

Status Client::tell(std::string_view notice) {
  auto packet = packet_of(MessageType::kPeerNotice, next_request_++, notice);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return Done{};
}

Result<std::string> Client::history(const std::string& dataset, const std::string& name) {
  auto packet = frame_packet(MessageType::kHistory, next_request_++, 0, dataset, name);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return std::move(reply->body);
}

Status Client::fetch(const std::string& dataset, const std::string& name) {
  auto packet = frame_packet(MessageType::kFetch, next_request_++, 0, dataset, name);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return Done{};
}

Status Client::add_dataset(const std::string& path, const std::string& frames,
                           bool takes_away) {
  auto packet = frame_packet(MessageType::kAddDataset, next_request_++,
                             takes_away ? kTakeAway : 0, path, frames);
  auto reply = exchange(packet);
  if (!reply) return reply.error();
  return Done{};
}

Result<std::uint64_t> Client::start_push(const std::string& dataset, const std::string& name,
                                         int origin_fd) {
  return hand_over(MessageType::kPush, 0, dataset, name, origin_fd);
}

Result<std::uint64_t> Client::start_push_content(const std::string& dataset,
                                                 const std::string& name, int content_fd) {
  return hand_over(MessageType::kPushContent, 0, dataset, name, content_fd);
}

Result<std::uint64_t> Client::start_fill(const std::string& dataset, const std::string& name,
                                         int origin_fd) {
  return hand_over(MessageType::kFill, kWaitForIt | kNotYetOpened, dataset, name, origin_fd);
}

Result<std::uint64_t> Client::hand_over(MessageType type, std::uint32_t flags,
                                        const std::string& dataset, const std::string& name,
                                        int origin_fd) {
  if (link_) return Error{EOPNOTSUPP, "the daemon refused", {}};
  std::uint64_t request = next_request_++;
  auto packet = frame_packet(type, request, flags, dataset, name);
  if (!packet) return packet.error();
  if (auto sent = send_request(socket_.get(), *packet, origin_fd, timeout_ms_); !sent) {
    return sent.error();
  }
  return request;
}

Result<Client::PushAnswer> Client::next_push_answer() {
  auto reply = receive_reply(socket_.get(), timeout_ms_);
  if (!reply) return reply.error();
  return PushAnswer{reply->header.request, reply->header.status};
}

}  // namespace zazen
