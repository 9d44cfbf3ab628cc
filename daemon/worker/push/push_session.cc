#include "daemon/worker/push/push_session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/seqlog.h"
#include "bodhi/push/munge_credential.h"
#include "bodhi/push/push_target.h"
#include "bodhi/push/socket_owner.h"
#include "daemon/process/crash_report.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/push/incoming_frame.h"

namespace zazen {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10, kMostUnreadBytes = 64 << 10;
constexpr std::size_t kMostKeptBytes = 256 << 10;  // of content that waits for files
constexpr std::uint64_t kMostBegun = 16;           // frames, with one ticket each
constexpr std::uint64_t kMostAhead = 12, kMostAheadBytes = 8 << 20;

// Full connections together have no more tickets than zazend gives to a worker.
std::uint64_t most_begun(const Config& config) {
  return std::min(kMostBegun,
                  kMostTickets / std::max<std::uint64_t>(config.max_connections, 1));
}
constexpr std::chrono::seconds kLastAnswersLimit(5);

}  // namespace

void PushSession::AnswerBox::post(Answered answer) {
  std::unique_lock lock(mutex);
  until_no_shortage(lock, [&] { answers.push_back(answer); });
  if (answers.size() == 1) wake();  // or somebody has
}

void PushSession::AnswerBox::wake() {
  std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

PushSession::PushSession(UniqueFd socket, std::string from, PushTerms& terms)
    : socket_(std::move(socket)),
      from_(std::move(from)),
      terms_(terms),
      carried_(terms.config.runtime, terms.config.all_users) {
  box_->event = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

void PushSession::run() {
  CrashStack crash_stack;
  deadline_ = Clock::now() + terms_.limits.handshake;
  bool introduced = false;
  despite_shortage([&] {
    introduced = introduce();
    if (introduced) serve();
  });
  if (introduced) --place();
  ::shutdown(socket_.get(), SHUT_RDWR);
  ended_ = true;
}

void PushSession::stop() {
  stopping_ = true;
  box_->wake();
}

void PushSession::abort() {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void PushSession::say_at_work() {
  if (!has_request_ && open_ == 0) return;
  if (unsent() > 0 || !terms_.desk.is_disk_usable()) return;
  say(PushType::kWorking, 0, 0);
  send_output();
}

void PushSession::check_key() {
  if (!admitted_ || ended_ || terms_.keys.accepts(key_)) return;
  if (!std::exchange(said_key_ended_, true)) {
    log_line(LogLevel::kInfo, "push_closed",
             {{"from", from_}, {"why", "its key was replaced"}});
  }
  abort();
}

bool PushSession::break_off(const char* why) {
  ++terms_.counts.refused;
  log_line(LogLevel::kWarn, "push_refused", {{"from", from_}, {"why", why}});
  return false;
}

bool PushSession::introduce() {
  PushHello hello = {};
  hello.magic = kPushMagic;
  hello.version = kPushVersion;
  hello.methods = terms_.methods | kTakesNotices | kTakesRequests;
  hello.uid = terms_.own_uid;
  hello.largest_frame = terms_.config.max_frame_bytes;
  hello.nonce = random_bytes();
  output_ = as_text(hello);
  buffer_.resize(sizeof(PushIntroduction) + kLongestCredential + kLongestPeer);
  PushIntroduction introduction;
  if (!send_all()) return break_off("it reads nothing");
  if (!receive(&introduction, sizeof introduction)) {
    return break_off("it said nothing; writers of another version leave so");
  }
  if (!is_valid(introduction)) return break_off("it is no writer of this version");
  std::string credential(introduction.credential_length, '\0');
  std::string peer(introduction.peer_length, '\0');
  if (!receive(credential.data(), credential.size()) || !receive(peer.data(), peer.size())) {
    return break_off("it said nothing");
  }
  std::string why = "it cannot prove who it is";
  PushWelcome welcome = {};
  welcome.magic = kPushMagic;
  bool proved = prove(hello, introduction, credential, peer, &why);
  if (!proved) {
    welcome.status = EACCES;
  } else if (!is_meant(introduction.target, peer)) {
    welcome.status = EADDRNOTAVAIL;
    why = "it means another node, " + peer + "; or set known_as";
  } else if (++place() > (only_asks_ ? kMostAskers : terms_.config.max_connections)) {
    --place();
    welcome.status = EUSERS;
    why = "too many connections";
  } else {
    welcome.proof = keys_->proof_of_daemon();
    admitted_ = true;
  }
  output_ += as_text(welcome);
  bool sent = send_all();
  if (!admitted_) return break_off(why.c_str());
  if (!sent) --place();
  return sent;
}

bool PushSession::prove(const PushHello& hello, const PushIntroduction& introduction,
                        const std::string& credential, const std::string& peer,
                        std::string* why) {
  if ((introduction.method & terms_.methods) == 0) return false;
  std::vector<std::string> secrets = {""};
  std::optional<uid_t> uid = terms_.own_uid;  // of whoever has the key
  if (introduction.method == kByKey) secrets = terms_.keys.accepted();
  if (introduction.method == kByLoopback) uid = owner_of_peer(socket_.get());
  if (introduction.method == kByMunge) {
    Result<MungeSecret> decoded = terms_.desk.decode_munge(credential);
    if (!decoded.ok()) {
      *why = decoded.error().context;
      return false;
    }
    uid = decoded->uid;
    secrets = {std::string(as_text(decoded->secret))};
  }
  // Nothing tells whether content is what the origin will have: it is believed of those only
  // who could write the cache itself.
  const bool is_trusted = uid == terms_.own_uid || uid == 0u;
  only_asks_ = !is_trusted && terms_.config.all_users && introduction.method == kByMunge;
  if (!is_trusted && !only_asks_) {
    *why = uid ? "it is user " + std::to_string(*uid) : "nobody knows whose it is";
    return false;
  }
  is_tagged_ = introduction.method != kByLoopback;
  for (const std::string& secret : secrets) {
    keys_ = std::make_unique<PushKeys>(secret, hello, introduction, peer);
    Bytes32 proof = keys_->proof_of_writer();
    if (!same_bytes(&proof, &introduction.proof, sizeof proof)) continue;
    if (introduction.method == kByKey) key_ = secret;
    return true;
  }
  return false;
}

// Else somebody at that node's address has passed the session on to this one.
bool PushSession::is_meant(const PushTarget& target, const std::string& peer) const {
  const std::vector<std::string>& names = terms_.config.known_as;
  return target == own_target(socket_.get()) || std::ranges::find(names, peer) != names.end();
}

void PushSession::serve() {
  buffer_.resize(kBufferBytes);
  while (!stopping_ && serve_message()) {
  }
  forget_ahead();
  while (!complete_.empty()) finish_oldest();
  terms_.desk.flush();
  if (!stopping_) return;
  // What was promised is answered.
  deadline_ = Clock::now() + kLastAnswersLimit;
  for (collect_answers(); open_ > 0 || unsent() > 0; collect_answers()) {
    if (!send_output() || Clock::now() >= deadline_) return;
    struct pollfd entries[] = {
        {socket_.get(), static_cast<short>(unsent() == 0 ? 0 : POLLOUT), 0},
        {box_->event.get(), POLLIN, 0}};
    ::poll(entries, 2, 100);
    if ((entries[0].revents & (POLLERR | POLLHUP)) != 0) return;
  }
}

bool PushSession::serve_message() {
  deadline_ = Clock::now() + (only_asks_ ? terms_.limits.message : terms_.limits.idle);
  while (open_ >= kMostOpen) {
    if (!wait_for_input() || stopping_) return false;
  }
  // Who leaves answers unread is not read from, either.
  if (unsent() > kMostUnreadBytes) {
    deadline_ = Clock::now() + terms_.limits.message;
    if (!send_all()) return false;
  }
  PushHeader header;
  std::string body;
  PushNames names;
  if (begin_ == end_ && !fill_buffer()) return false;  // it may go at any time
  deadline_ = Clock::now() + terms_.limits.message;
  if (!receive_message(&header, &body)) return false;
  const bool is_notice = header.type == PushType::kNotice;
  const bool is_carried = header.type == PushType::kRequest;
  if (only_asks_ && !is_carried) return break_off("it may ask, but not push");
  bool is_request = header.type == PushType::kPush || header.type == PushType::kNatives;
  if (!is_notice && !is_carried && (!is_request || !decode(body, &names)))
    return break_off("a message that does not belong there");
  has_request_ = true;
  bool goes_on = true;
  if (is_notice) {
    answer(header.request, terms_.desk.take_notice(body));
  } else if (is_carried) {
    goes_on = carry_request(header.request, body);
  } else {
    goes_on = header.type == PushType::kPush ? take_push(header, names)
                                             : answer_natives(header.request, names);
  }
  has_request_ = false;
  return goes_on;
}

bool PushSession::receive_message(PushHeader* header, std::string* body) {
  Bytes32 mac;
  if (!receive(header, sizeof *header)) return false;
  if (!is_valid(*header, PushSide::kWriter)) return break_off("a malformed message");
  body->resize(header->length);
  if (!receive(body->data(), body->size()) || !receive(&mac, sizeof mac)) return false;
  Bytes32 expected = keys_->mac(PushSide::kWriter, *header, *body);
  return same_bytes(&mac, &expected, sizeof mac) || break_off("a wrong MAC");
}

std::optional<std::uint32_t> PushSession::find_dataset(const std::string& path) const {
  for (std::uint32_t i = 0; i < terms_.config.datasets.size(); ++i) {
    const DatasetConfig& dataset = terms_.config.datasets[i];
    if (dataset.path == path && !dataset.removed) return i;
  }
  return std::nullopt;
}

// A name counts only if it is the very name that the template gives to a number: so none leads
// anywhere else.
int PushSession::find_frame(const PushNames& names, std::uint32_t* dataset,
                            FrameSeq* seq) const {
  std::optional<std::uint32_t> found = find_dataset(names.dataset);
  if (!found) return ENOENT;
  *dataset = *found;
  const FrameName& name = terms_.config.datasets[*found].name;
  char text[kMaxTemplate + 32];
  bool is_frame = name.match(names.name.data(), names.name.size(), seq) &&
                  !name.is_companion(*seq) &&
                  std::string_view(text, name.format(*seq, text, sizeof text)) == names.name;
  return is_frame ? 0 : EINVAL;
}

bool PushSession::take_push(const PushHeader& header, const PushNames& names) {
  if (header.content_bytes > terms_.config.max_frame_bytes) {
    answer(header.request, EFBIG);
    send_output();
    return break_off("a frame that is too large");
  }
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  int status = find_frame(names, &dataset, &seq);
  IntakePointer intake;
  if (status == 0) {
    while (!complete_.empty() && begun() >= most_begun(terms_.config)) finish_oldest();
    intake = intake_for(dataset, header.content_bytes);
  }
  ContentEnd computed, told;
  if (!take_content(header.content_bytes, &status, intake.get(), &computed)) return false;
  PushHeader end;
  std::string body;
  if (!receive_message(&end, &body)) return false;
  if (end.type != PushType::kContentEnd || end.request != header.request) {
    return break_off("a message that does not belong there");
  }
  std::memcpy(&told, body.data(), sizeof told);
  if (!same_bytes(&told.tag, &computed.tag, sizeof told.tag))
    return break_off("altered content");
  if (told.checksum != computed.checksum) status = EBADMSG;
  if (status != 0) {
    ++terms_.counts.failed;
    answer(header.request, status);
    return true;
  }
  auto done = [box = box_, number = header.request, &counts = terms_.counts](int code) {
    ++(code == 0 ? counts.frames : counts.failed);
    box->post({number, code});
  };
  ++open_;
  complete_.push_back({intake, seq, computed.checksum, std::move(done)});
  intake->note_complete();
  finish_complete();
  return true;
}

// Those that have their files.
void PushSession::finish_complete() {
  while (!complete_.empty() && complete_.front().intake->has_answer()) finish_oldest();
}

void PushSession::finish_oldest() {
  Complete one = std::move(complete_.front());
  complete_.pop_front();
  one.intake->finish(one.seq, one.checksum, std::move(one.done));
}

PushSession::IntakePointer PushSession::begin(std::uint32_t dataset, std::uint64_t bytes) {
  auto intake = std::make_shared<IncomingFrame>(terms_.desk, dataset);
  terms_.desk.begin(dataset, bytes,
                    [intake, box = box_](int code, std::uint64_t ticket, UniqueFd file) {
                      if (intake->take_file(code, ticket, std::move(file))) box->wake();
                    });
  return intake;
}

// While zazend gives files, a few are asked for ahead: simulations write frames of one size.
PushSession::IntakePointer PushSession::intake_for(std::uint32_t dataset, std::uint64_t bytes) {
  const bool is_like_last = last_ && dataset == last_dataset_ && bytes == last_bytes_;
  if (!is_like_last) forget_ahead();
  std::erase_if(ahead_, [](const IntakePointer& one) { return one->is_refused(); });
  if (ahead_.empty()) ahead_.push_back(begin(dataset, bytes));
  IntakePointer intake = std::move(ahead_.front());
  ahead_.pop_front();
  const std::uint64_t fit = kMostAheadBytes / std::max<std::uint64_t>(bytes, 1);
  const bool is_given = last_ && last_->has_answer() && !last_->is_refused();
  const std::uint64_t most = is_given ? std::min(kMostAhead, fit) : 0;
  if (2 * ahead_.size() <= most) {  // several at once, and before the last one is used
    while (ahead_.size() < most && begun() + 1 < most_begun(terms_.config)) {
      ahead_.push_back(begin(dataset, bytes));
    }
    terms_.desk.flush();
  }
  std::tie(last_, last_dataset_, last_bytes_) = std::tie(intake, dataset, bytes);
  return intake;
}

void PushSession::forget_ahead() {
  ahead_.clear();
  last_.reset();
}

// Of what waits for files, no more than kMostKeptBytes is kept.
int PushSession::store(IncomingFrame& intake, const char* bytes, std::size_t size) {
  finish_complete();
  std::size_t kept = intake.kept() + size;
  for (const Complete& one : complete_) kept += one.intake->kept();
  while (kept > kMostKeptBytes && !complete_.empty()) {
    kept -= complete_.front().intake->kept();
    finish_oldest();
  }
  return kept <= kMostKeptBytes ? intake.keep_or_write(bytes, size) : intake.write(bytes, size);
}

bool PushSession::take_content(std::uint64_t bytes, int* status, IncomingFrame* intake,
                               ContentEnd* end) {
  deadline_ = Clock::now() + terms_.limits.message +
              std::chrono::milliseconds(bytes * 1000 / terms_.limits.slowest_bytes);
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> hash(
      XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); });
  XXH3_64bits_reset(hash.get());
  std::optional<ContentTag> tag;
  if (is_tagged_) tag.emplace(*keys_, frames_);
  ++frames_;
  for (std::uint64_t left = bytes; left > 0;) {
    if (begin_ == end_ && !fill_buffer()) return false;
    auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, end_ - begin_));
    const char* piece = buffer_.data() + begin_;
    XXH3_64bits_update(hash.get(), piece, size);
    if (tag) tag->add(piece, size);
    if (*status == 0) *status = store(*intake, piece, size);
    begin_ += size;
    left -= size;
    terms_.counts.bytes += size;
    if (!pause(terms_.rate.take(size))) return false;
  }
  deadline_ = std::max(deadline_, Clock::now() + terms_.limits.message);
  end->checksum = XXH3_64bits_digest(hash.get());
  end->tag = tag ? tag->finish() : Bytes16{};
  return true;
}

bool PushSession::answer_natives(std::uint64_t request, const PushNames& names) {
  PushHeader header = {};
  header.request = request;
  std::string body;
  if (!names.name.empty()) return break_off("a message that does not belong there");
  if (const auto dataset = find_dataset(names.dataset)) {
    Result<std::string> natives = terms_.desk.natives(*dataset);
    if (natives.ok()) {
      body = std::move(*natives);
    } else {
      header.status = natives.error().code;
    }
    if (body.size() > kLongestNatives) {
      header.status = EFBIG;
      body.clear();
    }
  } else {
    header.status = ENOENT;
  }
  std::string_view rest = body;
  do {
    const std::string_view part = rest.substr(0, kLongestNativesPart);
    rest.remove_prefix(part.size());
    header.type = rest.empty() ? PushType::kNativesAnswer : PushType::kNativesPart;
    header.length = static_cast<std::uint32_t>(part.size());
    say(header, part);
  } while (!rest.empty());
  deadline_ = Clock::now() + terms_.limits.message;
  return send_all();
}

void PushSession::answer(std::uint64_t request, int status) {
  say(PushType::kAnswer, request, status);
}

void PushSession::say(PushType type, std::uint64_t request, int status) {
  PushHeader header = {};
  header.type = type;
  header.request = request;
  header.status = status;
  say(header, {});
}

void PushSession::say(const PushHeader& header, std::string_view body) {
  std::lock_guard lock(output_mutex_);
  // All of it, or nothing: the MAC counts.
  output_.reserve(output_.size() + sizeof header + body.size() + sizeof(Bytes32));
  Bytes32 mac = keys_->mac(PushSide::kDaemon, header, body);
  output_.append(as_text(header)).append(body).append(as_text(mac));
}

void PushSession::collect_answers() {
  std::uint64_t count;
  (void)!::read(box_->event.get(), &count, sizeof count);
  finish_complete();  // later than the read: take_file() wakes once
  std::vector<Answered> answers;
  {
    std::lock_guard lock(box_->mutex);
    answers.swap(box_->answers);
  }
  for (const Answered& one : answers) answer(one.request, one.status);
  open_ -= answers.size();
}

bool PushSession::receive(void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    if (begin_ == end_ && !fill_buffer()) return false;
    std::size_t part = std::min(size, end_ - begin_);
    std::memcpy(at, buffer_.data() + begin_, part);
    begin_ += part;
    at += part;
    size -= part;
  }
  return true;
}

bool PushSession::fill_buffer() {
  terms_.desk.flush();  // for all frames of one buffer together
  for (;;) {
    if (stopping_) return false;
    ssize_t size = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size > 0) {
      begin_ = 0;
      end_ = static_cast<std::size_t>(size);
      return true;
    }
    if (size == 0) return false;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait_for_input()) return false;
  }
}

// Until something has come, from the writer or from the store; answers go out meanwhile. With
// too much unanswered the writer is not listened to.
bool PushSession::wait_for_input() {
  terms_.desk.flush();
  if (!send_output()) return false;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  if (left <= 0) return false;
  short events = open_ < kMostOpen ? POLLIN : 0;
  if (unsent() > 0) events |= POLLOUT;
  struct pollfd entries[] = {{socket_.get(), events, 0}, {box_->event.get(), POLLIN, 0}};
  if (last_) left = std::min<std::int64_t>(left, terms_.limits.quiet.count());
  const int ready = ::poll(entries, 2, static_cast<int>(left));
  if (ready < 0 && errno != EINTR) return false;
  if (ready == 0) forget_ahead();
  if ((entries[1].revents & POLLIN) != 0) collect_answers();
  // Who is gone and is not listened to would be ready for ever.
  if ((events & POLLIN) == 0 && (entries[0].revents & (POLLERR | POLLHUP)) != 0) return false;
  return send_output();
}

bool PushSession::pause(std::chrono::milliseconds time) {
  deadline_ += time;
  auto until = Clock::now() + time;
  while (time.count() > 0) {
    terms_.desk.flush();
    struct pollfd entry = {box_->event.get(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(time.count()));
    collect_answers();
    if (stopping_ || !send_output()) return false;
    time = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  }
  return true;
}

std::size_t PushSession::unsent() const {
  std::lock_guard lock(output_mutex_);
  return output_.size();
}

// As much as the writer takes now.
bool PushSession::send_output() {
  std::lock_guard lock(output_mutex_);
  std::size_t done = 0;
  while (done < output_.size()) {
    ssize_t sent = ::send(socket_.get(), output_.data() + done, output_.size() - done,
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    done += static_cast<std::size_t>(sent);
  }
  output_.erase(0, done);
  return true;
}

bool PushSession::send_all() {
  while (unsent() > 0) {
    if (!send_output()) return false;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (unsent() == 0) break;
    if (left <= 0 || stopping_) return false;
    terms_.desk.flush();
    struct pollfd entry = {socket_.get(), POLLOUT, 0};
    ::poll(&entry, 1, static_cast<int>(left));
  }
  return true;
}

}  // namespace zazen
