// The link to a daemon on another machine (push_wire.h). start_push() returns when the whole
// frame is sent. At most kWindowBytes are without an answer, unless a single frame is larger.
//
// The time limit is for silence. A node is not silent while its kernel acknowledges bytes,
// which requires that its daemon receives them. Nor is it silent while the daemon sends
// messages such as kWorking. A node that does neither for the time limit has failed.
//
// The socket does not block. A thread that waits to send also receives answers, so the two
// sides never wait for each other to read.
//
// The link holds at most one message and one buffer of bytes whose MAC is not yet verified. An
// attacker on the network can inject bytes; the first injected message ends the link.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/push_address.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/push/munge_credential.h"
#include "bodhi/push/node_link.h"
#include "bodhi/push/push_keys.h"
#include "bodhi/push/push_target.h"
#include "bodhi/push/push_wire.h"
#include "bodhi/push/socket_owner.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWindowBytes = 64 << 20;
constexpr int kLooks = 8;  // checks for progress, within the time limit
constexpr std::size_t kMostOutstanding = 256;
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kMessageBytes = sizeof(PushHeader) + sizeof(Bytes32);

Error silent(int code) {
  return Error{code, "the node does not answer", {}};
}

Result<UniqueFd> connect_to(const SocketAddress& address, int timeout_ms) {
  UniqueFd fd(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return last_error("socket");
  int code = 0;
  socklen_t size = sizeof code;
  const auto* to = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), to, address.size) != 0 && errno != EINPROGRESS) return silent(errno);
  struct pollfd entry = {fd.get(), POLLOUT, 0};
  if (::poll(&entry, 1, timeout_ms) <= 0) return silent(ETIMEDOUT);
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) return silent(errno);
  if (code != 0) return silent(code);
  int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class NetworkLink : public NodeLink, public RequestLink {
 public:
  NetworkLink(UniqueFd socket, std::string peer, bool is_local, int timeout_ms)
      : socket_(std::move(socket)),
        peer_(std::move(peer)),
        is_local_(is_local),
        timeout_ms_(timeout_ms) {}

  const std::string& key() const override { return key_; }
  Status introduce(const Credentials& credentials);
  Status start_push(std::uint64_t request, const std::string& dataset, const std::string& name,
                    const PushContent& content) override;
  Result<PushAnswer> next_answer() override;
  Result<FrameSet> natives(const std::string& dataset) override;
  Status tell(std::string_view notice) override;
  Result<RequestLink::Answer> ask(std::string_view packet) override;

 private:
  Result<RequestLink::Answer> ask_with(std::string_view packet, const std::string& credential);
  struct Introducing {
    PushIntroduction introduction = {};
    std::string credential;
    std::string secret;
  };
  Result<Introducing> choose_method(const Credentials& credentials) const;
  bool is_trusted() const;

  // The following return 0 or an errno; after an errno the link is unusable.
  int wait(short events);
  int send(const void* bytes, std::size_t size, int flags = 0);
  int send_message(PushHeader header, std::string_view body, int flags = 0);
  int send_content(const PushContent& content, std::uint64_t bytes, ContentEnd* end);
  int take_in();        // the available bytes; EAGAIN if there are none
  int take_messages();  // the complete messages that arrive during a send
  int receive(void* bytes, std::size_t size);
  int receive_message(PushHeader* header, std::string* body);  // a complete one
  int take_answer();
  int take_natives(const PushHeader& header, const std::string& body);
  int take_reply(const PushHeader& header, std::string& body);
  bool has_message() const;
  Error broken(int code);
  void note_movement();
  void note_sign();  // records a sign of life, without further effect
  void look_for_movement();

  UniqueFd socket_;
  const std::string peer_;  // as configured
  std::string key_;
  const bool is_local_;  // the daemon is on this machine
  const int timeout_ms_;
  Clock::time_point moved_at_, deadline_;
  std::uint64_t sent_bytes_ = 0, taken_bytes_ = 0;  // acknowledged by the other kernel
  PushHello hello_ = {};
  std::unique_ptr<PushKeys> keys_;
  bool is_tagged_ = false;
  std::uint64_t frames_ = 0;
  std::string input_;
  std::map<std::uint64_t, std::uint64_t> under_way_;  // bytes, by request
  std::uint64_t window_bytes_ = 0;
  std::deque<PushAnswer> answers_;
  std::uint64_t natives_request_ = 0, notices_ = 0;
  std::optional<std::string> natives_parts_;  // while a natives answer is awaited
  std::optional<Result<FrameSet>> natives_;
  bool has_munge_ = false;
  std::uint64_t asked_ = 0;  // requests
  bool awaits_reply_ = false;
  RequestLink::Answer reply_;
};

Error NetworkLink::broken(int code) {
  socket_.reset();
  bool is_silence = code == ETIMEDOUT || code == ECONNRESET || code == EPIPE;
  return silent(is_silence ? code : ECONNRESET);
}

void NetworkLink::note_movement() {
  moved_at_ = Clock::now();
  note_sign();
}

void NetworkLink::note_sign() {
  deadline_ =
      std::min(Clock::now() + std::chrono::milliseconds(timeout_ms_), moved_at_ + kLongestWork);
}

void NetworkLink::look_for_movement() {
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCOUTQ, &waiting) != 0) return;
  const std::uint64_t taken = sent_bytes_ - static_cast<std::uint64_t>(waiting);
  if (std::exchange(taken_bytes_, taken) != taken) note_movement();
}

int NetworkLink::wait(short events) {
  if (!socket_.valid()) return EPIPE;
  for (;;) {
    look_for_movement();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    // Data counts even if it is received late because this thread was blocked elsewhere.
    struct pollfd entry = {socket_.get(), events, 0};
    int pause = left <= 0 ? 0 : std::min(static_cast<int>(left), timeout_ms_ / kLooks + 1);
    int ready = ::poll(&entry, 1, pause);
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
    if (left <= 0) return ETIMEDOUT;
  }
}

int NetworkLink::take_in() {
  if (!socket_.valid()) return EPIPE;
  char buffer[16 << 10];
  ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0) return errno == EINTR ? EAGAIN : errno;
  if (size == 0) return ECONNRESET;
  note_sign();
  input_.append(buffer, static_cast<std::size_t>(size));
  return 0;
}

int NetworkLink::take_messages() {
  int code = take_in();
  while (code == 0 && has_message()) code = take_answer();
  return code == EAGAIN ? 0 : code;
}

int NetworkLink::receive(void* bytes, std::size_t size) {
  while (input_.size() < size) {
    int code = take_in();
    if (code == EAGAIN) code = wait(POLLIN);
    if (code != 0) return code;
  }
  std::memcpy(bytes, input_.data(), size);
  input_.erase(0, size);
  return 0;
}

int NetworkLink::send(const void* bytes, std::size_t size, int flags) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    if (!socket_.valid()) return EPIPE;
    ssize_t sent = ::send(socket_.get(), at, size, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
    if (sent > 0) {
      at += sent;
      size -= static_cast<std::size_t>(sent);
      sent_bytes_ += static_cast<std::uint64_t>(sent);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return errno;
    if (int code = wait(POLLIN | POLLOUT); code != 0) return code;
    if (int code = take_messages(); code != 0) return code;
  }
  return 0;
}

int NetworkLink::send_message(PushHeader header, std::string_view body, int flags) {
  header.length = static_cast<std::uint32_t>(body.size());
  Bytes32 mac = keys_->mac(PushSide::kWriter, header, body);
  std::string message(as_text(header));
  message.append(body).append(as_text(mac));
  return send(message.data(), message.size(), flags);
}

bool NetworkLink::has_message() const {
  PushHeader header;
  if (input_.size() < kMessageBytes) return false;
  std::memcpy(&header, input_.data(), sizeof header);
  // An invalid length is reported when the message is received.
  return !is_valid(header, PushSide::kDaemon) || input_.size() >= kMessageBytes + header.length;
}

int NetworkLink::receive_message(PushHeader* header, std::string* body) {
  Bytes32 mac;
  if (int code = receive(header, sizeof *header); code != 0) return code;
  if (!is_valid(*header, PushSide::kDaemon)) return EPROTO;
  body->resize(header->length);
  if (int code = receive(body->data(), body->size()); code != 0) return code;
  if (int code = receive(&mac, sizeof mac); code != 0) return code;
  Bytes32 expected = keys_->mac(PushSide::kDaemon, *header, *body);
  return same_bytes(&mac, &expected, sizeof mac) ? 0 : EPROTO;
}

int NetworkLink::take_answer() {
  PushHeader header;
  std::string body;
  if (int code = receive_message(&header, &body); code != 0) return code;
  if (header.type == PushType::kWorking) return 0;
  note_movement();
  if (header.type == PushType::kNativesAnswer || header.type == PushType::kNativesPart) {
    return take_natives(header, body);
  }
  if (header.type == PushType::kReply || header.type == PushType::kReplyPart) {
    return take_reply(header, body);
  }
  auto found = under_way_.extract(header.request);
  if (found.empty()) return EPROTO;
  window_bytes_ -= found.mapped();
  answers_.push_back({header.request, header.status});
  return 0;
}

int NetworkLink::take_natives(const PushHeader& header, const std::string& body) {
  if (!natives_parts_ || header.request != natives_request_ ||
      natives_parts_->size() + body.size() > kLongestNatives) {
    return EPROTO;
  }
  natives_parts_->append(body);
  if (header.type == PushType::kNativesPart) return 0;
  natives_ = header.status == 0
                 ? FrameSet::decode(*natives_parts_)
                 : Result<FrameSet>(Error{header.status, "the node refused", {}});
  natives_parts_.reset();
  return 0;
}

int NetworkLink::take_reply(const PushHeader& header, std::string& body) {
  if (!awaits_reply_ || header.request != asked_) return EPROTO;
  if (header.type == PushType::kReplyPart) {
    if (reply_.content.size() + body.size() > kLongestContent) return EPROTO;
    reply_.content += body;
    return 0;
  }
  reply_.status = header.status;
  reply_.body = std::move(body);
  awaits_reply_ = false;
  return 0;
}

// Trusted without proof: a daemon on this machine that runs as root or as the writer's own
// user.
bool NetworkLink::is_trusted() const {
  if (!is_local_) return false;
  std::optional<uid_t> owner = owner_of_peer(socket_.get());
  return owner == 0u || owner == ::geteuid();
}

// The strongest method that both sides have. A side with a key accepts no weaker method
// instead. A MUNGE credential is given to root or to the writer's own user only, because its
// decoder gets the session's keys.
Result<NetworkLink::Introducing> NetworkLink::choose_method(
    const Credentials& credentials) const {
  Introducing chosen;
  PushIntroduction& introduction = chosen.introduction;
  introduction.magic = kPushMagic;
  introduction.version = kPushVersion;
  introduction.peer_length = static_cast<std::uint32_t>(peer_.size());
  introduction.target = dialled_target(socket_.get());
  introduction.nonce = random_bytes();
  bool may_decode = hello_.uid == 0 || hello_.uid == ::geteuid();
  if (!credentials.key.empty() && (hello_.methods & kByKey) != 0) {
    introduction.method = kByKey;
    chosen.secret = credentials.key;
  } else if (credentials.munge && (hello_.methods & kByMunge) != 0 && may_decode) {
    introduction.method = kByMunge;
    Bytes32 secret = random_bytes();
    Result<std::string> credential = encode_munge_credential(secret, hello_.uid);
    if (!credential) return credential.error();
    chosen.credential = std::move(*credential);
    chosen.secret = as_text(secret);
  } else if (credentials.key.empty() && (hello_.methods & kByLoopback) != 0 && is_trusted()) {
    introduction.method = kByLoopback;
  } else {
    return Error{EACCES, "node and writer cannot prove to each other who they are",
                 "give both the same key: key_file = \"...\", or run MUNGE on both machines"};
  }
  introduction.credential_length = static_cast<std::uint32_t>(chosen.credential.size());
  return chosen;
}

Status NetworkLink::introduce(const Credentials& credentials) {
  note_movement();
  has_munge_ = credentials.munge;
  if (int code = receive(&hello_, sizeof hello_); code != 0) return broken(code);
  if (!is_valid(hello_)) {
    if (hello_.magic != kPushMagic || hello_.version == kPushVersion) {
      return Error{EPROTO, "no zazend answers there", {}};
    }
    return Error{EPROTO,
                 "its zazend has version " + std::to_string(hello_.version) +
                     " of the protocol, this program " + std::to_string(kPushVersion),
                 "install the same version of Zazen on both machines"};
  }
  Result<Introducing> chosen = choose_method(credentials);
  if (!chosen) return chosen.error();
  PushIntroduction& introduction = chosen->introduction;
  keys_ = std::make_unique<PushKeys>(chosen->secret, hello_, introduction, peer_);
  is_tagged_ = introduction.method != kByLoopback;
  if (introduction.method == kByKey) key_ = credentials.key;
  introduction.proof = keys_->proof_of_writer();
  std::string message(as_text(introduction));
  message += chosen->credential + peer_;
  PushWelcome welcome;
  int code = send(message.data(), message.size());
  if (code == 0) code = receive(&welcome, sizeof welcome);
  if (code != 0) return broken(code);
  Bytes32 expected = keys_->proof_of_daemon();
  if (!is_valid(welcome)) return Error{EPROTO, "the node's answer", {}};
  if (welcome.status == EADDRNOTAVAIL) {
    return Error{EADDRNOTAVAIL, "the node that answers is not known as '" + peer_ + "'",
                 "if a tunnel or NAT leads there, add it to known_as = [...] of that node"};
  }
  if (welcome.status != 0) return Error{welcome.status, "the node refused", {}};
  if (!same_bytes(&welcome.proof, &expected, sizeof expected)) {
    return Error{EACCES, "the node does not have the key", {}};
  }
  return Done{};
}

// Sends the announced number of bytes, even if the file changes. In that case the checksum is
// wrong and the daemon reports it.
int NetworkLink::send_content(const PushContent& content, std::uint64_t bytes,
                              ContentEnd* end) {
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> hash(
      XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); });
  if (!hash) return ENOMEM;
  XXH3_64bits_reset(hash.get());
  std::optional<ContentTag> tag;
  if (is_tagged_) tag.emplace(*keys_, frames_);
  ++frames_;
  std::string buffer(content.fd >= 0 ? std::min<std::uint64_t>(bytes, kPieceBytes) : 0, '\0');
  bool whole = true;
  for (std::uint64_t at = 0; at < bytes;) {
    auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, bytes - at));
    const char* piece = buffer.data();
    if (content.fd < 0) {
      piece = reinterpret_cast<const char*>(content.bytes.data()) + at;
    } else if (whole) {
      ssize_t got;
      do {
        got = ::pread(content.fd, buffer.data(), size, static_cast<off_t>(at));
      } while (got < 0 && errno == EINTR);
      if (got > 0) size = static_cast<std::size_t>(got);
      whole = got > 0;
    }
    XXH3_64bits_update(hash.get(), piece, size);
    if (tag) tag->add(piece, size);
    if (int code = send(piece, size, MSG_MORE); code != 0) return code;
    at += size;
  }
  struct stat now;
  if (content.fd >= 0 && content.origin) {  // the file may have changed during the transfer
    const OriginIdentity before = identity_of(*content.origin, FrameKind::kNative, 0);
    whole = whole && ::fstat(content.fd, &now) == 0 && same_file(before, now);
  }
  end->checksum = XXH3_64bits_digest(hash.get()) ^ (whole ? 0 : ~std::uint64_t{0});
  end->tag = tag ? tag->finish() : Bytes16{};
  return 0;
}

Status NetworkLink::start_push(std::uint64_t request, const std::string& dataset,
                               const std::string& name, const PushContent& content) {
  const std::uint64_t bytes = content.fd >= 0 ? content.size : content.bytes.size();
  std::string names = encode(PushNames{dataset, name});
  if (dataset.size() >= kMaxPath || names.size() > kLongestPushBody) {
    return Error{EINVAL, "'" + dataset + "' and '" + name + "' make no request", {}};
  }
  if (bytes > hello_.largest_frame) {
    answers_.push_back({request, EFBIG});
    return Done{};
  }
  note_movement();
  int code = socket_.valid() ? 0 : EPIPE;
  while (code == 0 && !under_way_.empty() &&
         (has_message() || under_way_.size() >= kMostOutstanding ||
          window_bytes_ + bytes > kWindowBytes)) {
    code = take_answer();
  }
  if (code != 0) return broken(code);
  under_way_[request] = bytes;
  window_bytes_ += bytes;
  PushHeader header = {};
  header.type = PushType::kPush;
  header.request = request;
  header.content_bytes = bytes;
  ContentEnd end = {};
  code = send_message(header, names, MSG_MORE);
  if (code == 0) code = send_content(content, bytes, &end);
  header.type = PushType::kContentEnd;
  header.content_bytes = 0;
  if (code == 0) code = send_message(header, as_text(end));
  if (code != 0) return broken(code);
  return Done{};
}

Result<PushAnswer> NetworkLink::next_answer() {
  note_movement();
  while (answers_.empty()) {
    if (int code = take_answer(); code != 0) return broken(code);
  }
  PushAnswer answer = answers_.front();
  answers_.pop_front();
  return answer;
}

Result<FrameSet> NetworkLink::natives(const std::string& dataset) {
  note_movement();
  PushHeader header = {};
  header.type = PushType::kNatives;
  header.request = ++natives_request_;
  natives_.reset();
  natives_parts_.emplace();
  int code = send_message(header, encode(PushNames{dataset, ""}));
  while (code == 0 && !natives_) code = take_answer();
  if (code != 0) return broken(code);
  return std::move(*natives_);
}

Status NetworkLink::tell(std::string_view notice) {
  if ((hello_.methods & kTakesNotices) == 0) {
    return Error{EOPNOTSUPP, "the node's zazend takes no notices", "install the same version"};
  }
  note_movement();
  PushHeader header = {};
  header.type = PushType::kNotice;
  header.request = ++notices_;
  under_way_[header.request] = 0;
  int code = send_message(header, notice);
  while (code == 0 && answers_.empty()) code = take_answer();
  if (code != 0) return broken(code);
  code = answers_.front().status;
  answers_.pop_front();
  if (code != 0) return Error{code, "the node refused the notice", {}};
  return Done{};
}

Result<RequestLink::Answer> NetworkLink::ask(std::string_view packet) {
  if ((hello_.methods & kTakesRequests) == 0) {
    return Error{EOPNOTSUPP, "the node's zazend is of an older version",
                 "install the same version of Zazen on all nodes"};
  }
  Result<RequestLink::Answer> answer = ask_with(packet, "");
  const bool may_decode = hello_.uid == 0 || hello_.uid == ::geteuid();
  if (!answer || answer->status != EPERM || !has_munge_ || !may_decode) return answer;
  // The node serves all users, and wants to know which one asks.
  Result<std::string> credential = encode_munge_credential(
      digest_of_request(keys_->binding(), packet), hello_.uid, MungeUse::kRequest);
  return credential ? ask_with(packet, *credential) : answer;
}

Result<RequestLink::Answer> NetworkLink::ask_with(std::string_view packet,
                                                  const std::string& credential) {
  note_movement();
  PushHeader header = {};
  header.type = PushType::kRequest;
  header.request = ++asked_;
  reply_ = {};
  awaits_reply_ = true;
  int code = send_message(header, encode(PushRequest{std::string(packet), credential}));
  while (code == 0 && awaits_reply_) code = take_answer();
  if (code != 0) return broken(code);
  return std::move(reply_);
}

Result<std::unique_ptr<NetworkLink>> connect_with(const Credentials& credentials,
                                                  const std::string& peer, int timeout_ms) {
  std::optional<PushAddress> address = parse_push_address(peer);
  if (!address || peer.size() > kLongestPeer)
    return Error{EINVAL, "'" + peer + "' is not HOST:PORT", {}};
  Result<std::vector<SocketAddress>> found = resolve(*address, false);
  if (!found) return found.error();
  Error last = silent(EHOSTUNREACH);
  for (const SocketAddress& one : *found) {
    Result<UniqueFd> socket = connect_to(one, timeout_ms);
    if (socket) {
      auto link = std::make_unique<NetworkLink>(std::move(*socket), peer, one.is_loopback(),
                                                timeout_ms);
      if (Status done = link->introduce(credentials); !done) return done.error();
      return link;
    }
    last = socket.error();
  }
  last.context = peer + ": " + last.context;
  return last;
}

Result<std::unique_ptr<NetworkLink>> connect_in_turn(const Credentials& credentials,
                                                     const std::string& peer, int timeout_ms) {
  auto link = connect_with(credentials, peer, timeout_ms);
  if (link || link.error().code != EACCES) return link;
  // The node may not have the new key yet.
  for (const std::string& old : credentials.old_keys) {
    auto with_old = connect_with({old, credentials.munge, {}}, peer, timeout_ms);
    if (with_old) return with_old;
  }
  return link;
}

constexpr std::string_view kLocal = "unix:";

}  // namespace

Result<std::unique_ptr<NodeLink>> NodeLink::connect(const std::string& peer,
                                                    const Credentials& credentials,
                                                    int timeout_ms) {
  if (peer.starts_with(kLocal)) {
    return connect_local_link(peer.substr(kLocal.size()), timeout_ms);
  }
  return connect_network_link(peer, credentials, timeout_ms);
}

Result<std::unique_ptr<NodeLink>> connect_network_link(const std::string& peer,
                                                       const Credentials& credentials,
                                                       int timeout_ms) {
  auto link = connect_in_turn(credentials, peer, timeout_ms);
  if (!link) return link.error();
  return std::unique_ptr<NodeLink>(std::move(*link));
}

Result<Client> connect_client(const std::string& peer, const Credentials& credentials,
                              int timeout_ms) {
  if (peer.starts_with(kLocal)) {
    return Client::connect_patiently(peer.substr(kLocal.size()), timeout_ms);
  }
  auto link = connect_in_turn(credentials, peer, timeout_ms);
  if (!link) return link.error();
  return Client(std::unique_ptr<RequestLink>(std::move(*link)));
}

}  // namespace zazen
