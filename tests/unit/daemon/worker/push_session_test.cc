// The limits in time of one writer's session, over a real socket, with a real store. A session
// that is silent, or too slow with a frame that it has begun, is closed. Others are not. The
// limits are short here, or so long that nobody could wait for them. And what a session does
// while zazend has not given it the files of its frames.
#include "daemon/worker/push/push_session.h"

#include <sys/socket.h>
#include <xxhash.h>

#include <condition_variable>
#include <thread>

#include "daemon/store/store.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{50}, kForEver{3'600'000};
constexpr time_t kPatienceSeconds = 30;

using Take = std::function<void(std::function<void(int)> done)>;

// zazend's part of a session, in this process.
class LocalDesk : public PushDesk {
 public:
  LocalDesk(const Config& config, Store& store, Take take)
      : store_(store), config_(config), take_(std::move(take)) {}

  void begin(std::uint32_t dataset, std::uint64_t, Begun done) override {
    file_ = store_.make_temporary(dataset);
    done(0, 1, UniqueFd(::fcntl(file_.fd(), F_DUPFD_CLOEXEC, 0)));
  }
  void finish(std::uint32_t, const PushedFile&, Finished done) override {
    take_(std::move(done));
  }
  void abandon(std::uint64_t, int) override {}
  void flush() override {}
  Result<std::string> natives(std::uint32_t dataset) override {
    Result<FrameSet> natives =
        read_sequence_log(config_.cache + config_.datasets[dataset].path + "/" + kNativeLog);
    if (!natives.ok()) return natives.error();
    return natives->encode();
  }
  int take_notice(std::string_view) override { return ENOTSUP; }
  bool is_disk_usable() override { return true; }
  Result<MungeSecret> decode_munge(const std::string& credential) override {
    return decode_munge_credential(credential);
  }
  Result<UniqueFd> connect_as(const std::string&, const Bytes32&) override {
    return Error{ENOTSUP, "", {}};
  }

 protected:
  Store& store_;

 private:
  const Config& config_;
  const Take take_;
  Temporary file_;
};

class PushSessionTest : public Scratch {
 protected:
  void SetUp() override {
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    store_->reconcile(0);
    ASSERT_TRUE(use_key(kKey));
  }
  ~PushSessionTest() override {
    if (session_) session_->abort();
    if (thread_.joinable()) thread_.join();
  }

  void start(
      const PushLimits& limits, Take take = [](std::function<void(int)> done) { done(0); }) {
    start(limits, std::make_unique<LocalDesk>(config_, *store_, std::move(take)));
  }
  void start(const PushLimits& limits, std::unique_ptr<PushDesk> desk) {
    desk_ = std::move(desk);
    terms_.reset(new PushTerms{config_, *desk_, ring_, counts_, RateLimit(0), kByKey,
                               ::geteuid(), limits});
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = UniqueFd(ends[0]);
    const timeval patience = {kPatienceSeconds, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    session_ = std::make_unique<PushSession>(UniqueFd(ends[1]), "test", *terms_);
    thread_ = std::thread([this] { session_->run(); });
  }

  Result<bool> use_key(const std::string& key, milliseconds grace = {}) {
    write_file(directory() + "/key", key);
    ::chmod((directory() + "/key").c_str(), 0600);
    return ring_.read(directory() + "/key", grace);
  }

  // A socket pair has no address, which is one without digits on both sides.
  void introduce(int status = 0, const PushTarget& target = {},
                 const std::string& peer = "n0:7117") {
    introduce_with(kKey, status, target, peer);
  }
  void introduce_with(const std::string& key, int status, const PushTarget& target = {},
                      const std::string& peer = "n0:7117") {
    PushHello hello;
    ASSERT_TRUE(receive(&hello, sizeof hello));
    PushIntroduction introduction = {};
    introduction.magic = kPushMagic;
    introduction.version = kPushVersion;
    introduction.method = kByKey;
    introduction.target = target;
    introduction.peer_length = static_cast<std::uint32_t>(peer.size());
    keys_ = std::make_unique<PushKeys>(key, hello, introduction, peer);
    introduction.proof = keys_->proof_of_writer();
    ASSERT_TRUE(send(std::string(as_text(introduction)) + peer));
    PushWelcome welcome;
    ASSERT_TRUE(receive(&welcome, sizeof welcome));
    ASSERT_EQ(welcome.status, status);
  }

  std::string message(PushType type, const std::string& body, std::uint64_t content_bytes = 0,
                      std::uint64_t request = 7) {
    PushHeader header = {};
    header.type = type;
    header.request = request;
    header.length = static_cast<std::uint32_t>(body.size());
    header.content_bytes = content_bytes;
    Bytes32 mac = keys_->mac(PushSide::kWriter, header, body);
    return std::string(as_text(header)) + body + std::string(as_text(mac));
  }
  std::string push(std::uint64_t bytes) {
    return message(PushType::kPush, encode(PushNames{origin(), "f1"}), bytes);
  }

  bool send(std::string_view bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool receive(void* bytes, std::size_t size) {
    return ::recv(socket_.get(), bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  // By the other side, before a time limit ends.
  bool is_closed() {
    char byte;
    return ::recv(socket_.get(), &byte, 1, 0) == 0;
  }

  const std::string kKey = std::string(32, 'k');
  std::unique_ptr<Store> store_;
  PushCounts counts_;
  KeyRing ring_;
  std::unique_ptr<PushDesk> desk_;
  std::unique_ptr<PushTerms> terms_;
  UniqueFd socket_;
  std::unique_ptr<PushSession> session_;
  std::thread thread_;
  std::unique_ptr<PushKeys> keys_;
};

// A slow disk is not a silent one.
TEST_F(PushSessionTest, SaysThatItIsAtWorkWhileTheWriterWaits) {
  std::function<void(int)> done;
  std::atomic<bool> taken = false;
  start({kForEver, kForEver, kForEver, 1}, [&](std::function<void(int)> told) {
    done = std::move(told);
    taken = true;
  });
  introduce();
  session_->say_at_work();  // nobody waits
  ContentTag tag(*keys_, 0);
  ASSERT_TRUE(send(push(1) + "c"));
  tag.add("c", 1);
  ContentEnd end = {XXH3_64bits("c", 1), tag.finish()};
  PushHeader header;
  Bytes32 mac;
  auto receive_next = [&] {
    return receive(&header, sizeof header) && receive(&mac, sizeof mac);
  };
  ASSERT_TRUE(send(message(PushType::kContentEnd, std::string(as_text(end)))));
  while (!taken) std::this_thread::yield();
  session_->say_at_work();
  ASSERT_TRUE(receive_next());
  EXPECT_EQ(header.type, PushType::kWorking);
  EXPECT_EQ(mac, keys_->mac(PushSide::kDaemon, header, {})) << "the first that was said";
  done(0);
  ASSERT_TRUE(receive_next());
  EXPECT_EQ(header.type, PushType::kAnswer);
  EXPECT_EQ(header.status, 0);
  EXPECT_EQ(mac, keys_->mac(PushSide::kDaemon, header, {}));
}

TEST_F(PushSessionTest, WhoDoesNotIntroduceItselfIsClosed) {
  start({kShort, kForEver, kForEver, 1});
  PushHello hello;
  ASSERT_TRUE(receive(&hello, sizeof hello));
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(counts_.refused, 1u);
}

TEST_F(PushSessionTest, AReplacedKeyIsTakenForAWhile) {
  const std::string next(32, 'n');
  start({kForEver, kForEver, kForEver, 1});
  ASSERT_TRUE(*use_key(next, kForEver));
  introduce();
  session_->check_key();
  ASSERT_TRUE(send(message(PushType::kNatives, encode(PushNames{origin(), ""}))));
  PushHeader answer;
  ASSERT_TRUE(receive(&answer, sizeof answer)) << "the session goes on";
  std::string rest(answer.length + sizeof(Bytes32), '\0');
  ASSERT_TRUE(receive(rest.data(), rest.size()));
  ASSERT_FALSE(*use_key(next));  // the same key, and the grace is over
  session_->check_key();
  EXPECT_TRUE(is_closed());
}

TEST_F(PushSessionTest, ASessionOfTheNewKeyOutlivesTheGrace) {
  const std::string next(32, 'n');
  ASSERT_TRUE(*use_key(next, kForEver));
  start({kForEver, kForEver, kForEver, 1});
  introduce_with(next, 0);
  ASSERT_FALSE(*use_key(next));
  session_->check_key();
  ASSERT_TRUE(send(message(PushType::kNatives, encode(PushNames{origin(), ""}))));
  PushHeader answer;
  EXPECT_TRUE(receive(&answer, sizeof answer));
}

TEST_F(PushSessionTest, AfterTheGraceTheOldKeyIsRefused) {
  ASSERT_TRUE(*use_key(std::string(32, 'n')));
  start({kForEver, kForEver, kForEver, 1});
  introduce(EACCES);
  EXPECT_TRUE(is_closed());
}

TEST_F(PushSessionTest, SessionsOfOtherNodesAreRefused) {
  PushTarget other = {};
  other.port = 7117;
  start({kForEver, kForEver, kForEver, 1});
  introduce(EADDRNOTAVAIL, other);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(counts_.refused, 1u);
  EXPECT_FALSE(session_->is_admitted());
}

TEST_F(PushSessionTest, SessionsOfANameThatIsKnownAreTaken) {
  config_.known_as = {"gate:1", "gate:7117"};
  PushTarget other = {};
  other.address[0] = 1;
  start({kForEver, kForEver, kForEver, 1});
  introduce(0, other, "gate:7117");
  EXPECT_TRUE(session_->is_admitted());
}

// Each has its MAC.
TEST_F(PushSessionTest, ManyNativesComeInParts) {
  std::vector<FrameSeq> frames;  // with gaps that do not pack
  for (FrameSeq seq = 0; frames.size() < 100'000; seq += 1 + frames.size() * 7919 % 1'000) {
    frames.push_back(seq);
  }
  UniqueFd directory(::open(cache().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Result<SequenceLog> log =
      SequenceLog::open(directory.get(), copy(kNativeLog).substr(cache().size() + 1));
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->append(frames, {}).ok());
  start({kForEver, kForEver, kForEver, 1});
  introduce();
  ASSERT_TRUE(send(message(PushType::kNatives, encode(PushNames{origin(), ""}))));
  std::string all;
  PushHeader header = {};
  int parts = 0;
  while (header.type != PushType::kNativesAnswer) {
    ASSERT_TRUE(receive(&header, sizeof header));
    ASSERT_TRUE(is_valid(header, PushSide::kDaemon));
    std::string body(header.length, '\0');
    Bytes32 mac;
    ASSERT_TRUE(receive(body.data(), body.size()) && receive(&mac, sizeof mac));
    ASSERT_EQ(mac, keys_->mac(PushSide::kDaemon, header, body));
    all += body;
    ++parts;
  }
  EXPECT_GT(parts, 1);
  EXPECT_EQ(header.request, 7u);
  EXPECT_EQ(FrameSet::decode(all)->frames(), frames);
}

TEST_F(PushSessionTest, WhoIsIdleForTooLongIsClosed) {
  start({kForEver, kForEver, kShort, 1});
  introduce();
  EXPECT_TRUE(is_closed());
}

TEST_F(PushSessionTest, WhoIsIdleMayTakeLongerThanAMessage) {
  start({kForEver, kShort, kForEver, 1});
  introduce();
  std::this_thread::sleep_for(4 * kShort);
  ASSERT_TRUE(send(message(PushType::kNatives, encode(PushNames{origin(), ""}))));
  PushHeader answer;
  ASSERT_TRUE(receive(&answer, sizeof answer));
  EXPECT_EQ(answer.type, PushType::kNativesAnswer);
}

TEST_F(PushSessionTest, AMessageThatIsBegunMustEndInTime) {
  start({kForEver, kShort, kForEver, 1});
  introduce();
  ASSERT_TRUE(send(push(1).substr(0, 20)));
  EXPECT_TRUE(is_closed());
}

TEST_F(PushSessionTest, ContentThatStopsIsClosed) {
  start({kForEver, kShort, kForEver, 1 << 30});
  introduce();
  ASSERT_TRUE(send(push(100'000) + "the beginning"));
  EXPECT_TRUE(is_closed());
}

// It moves all the time, and would take hours.
TEST_F(PushSessionTest, ContentThatTricklesIsClosed) {
  start({kForEver, kShort, kForEver, 1 << 30});
  introduce();
  ASSERT_TRUE(send(push(10'000'000)));
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
  while (send("x") && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_FALSE(send("x"));
  EXPECT_TRUE(session_->has_ended());
}

TEST_F(PushSessionTest, ContentHasTheTimeThatTheSlowestRateGives) {
  start({kForEver, kShort, kForEver, 1});  // bytes, seconds
  introduce();
  const std::string content(3'600, 'c');
  ASSERT_TRUE(send(push(content.size())));
  ContentTag tag(*keys_, 0);
  for (std::size_t at = 0; at < content.size(); at += content.size() / 4) {
    std::this_thread::sleep_for(kShort);
    ASSERT_TRUE(send(content.substr(at, content.size() / 4)));
  }
  tag.add(content.data(), content.size());
  ContentEnd end = {XXH3_64bits(content.data(), content.size()), tag.finish()};
  ASSERT_TRUE(send(message(PushType::kContentEnd, std::string(as_text(end)))));
  PushHeader answer;
  ASSERT_TRUE(receive(&answer, sizeof answer));
  EXPECT_EQ(answer.type, PushType::kAnswer);
  EXPECT_EQ(answer.request, 7u);
  EXPECT_EQ(answer.status, 0);
}

// A slow zazend: it gives files when the test says so.
class LateDesk : public LocalDesk {
 public:
  using LocalDesk::LocalDesk;
  std::atomic<bool> is_prompt = false;  // it gives them at once

  void begin(std::uint32_t dataset, std::uint64_t, Begun done) override {
    std::unique_lock lock(mutex_);
    frames_.push_back({store_.make_temporary(dataset), std::move(done)});
    most_ = std::max(most_, frames_.size() - given_);
    changed_.notify_all();
    const std::uint64_t ticket = frames_.size();
    lock.unlock();
    if (is_prompt) give(ticket);
  }
  void finish(std::uint32_t, const PushedFile& file, Finished done) override {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(file.seq, 1u);
    finished_.insert(file.ticket);
    changed_.notify_all();
    done(0);
  }
  void abandon(std::uint64_t ticket, int) override {
    std::lock_guard lock(mutex_);
    abandoned_.insert(ticket);
    changed_.notify_all();
  }

  // Whether it is asked for so many within the time limit.
  bool is_asked_for(std::size_t frames) {
    return wait([&] { return frames_.size() >= frames; });
  }
  bool is_finished(std::uint64_t ticket) {
    return wait([&] { return finished_.contains(ticket); });
  }
  bool is_abandoned(std::uint64_t ticket) {
    std::lock_guard lock(mutex_);
    return abandoned_.contains(ticket);
  }
  bool will_be_abandoned(std::uint64_t ticket) {
    return wait([&] { return abandoned_.contains(ticket); });
  }
  // The ticket is the number of the frame, from 1 on.
  void give(std::uint64_t ticket, int status = 0) {
    std::unique_lock lock(mutex_);
    Frame& frame = frames_[ticket - 1];
    UniqueFd file;
    if (status == 0) file.reset(::fcntl(frame.file.fd(), F_DUPFD_CLOEXEC, 0));
    const Begun done = std::move(frame.done);
    ++given_;
    lock.unlock();
    done(status, status == 0 ? ticket : 0, std::move(file));
  }
  std::string content(std::uint64_t ticket) {
    std::lock_guard lock(mutex_);
    std::string content(1 << 20, '\0');
    const int fd = frames_[ticket - 1].file.fd();
    content.resize(static_cast<std::size_t>(::pread(fd, content.data(), content.size(), 0)));
    return content;
  }
  // So many were asked for and not given, at any time.
  std::size_t most() {
    std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  struct Frame {
    Temporary file;
    Begun done;
  };
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> frames_;
  std::size_t given_ = 0, most_ = 0;
  std::set<std::uint64_t> finished_, abandoned_;
};

class LateFilesTest : public PushSessionTest {
 protected:
  void begin_session(milliseconds quiet = kForEver) {
    auto desk = std::make_unique<LateDesk>(config_, *store_, Take());
    late_ = desk.get();
    start({kForEver, kForEver, kForEver, 1, quiet}, std::move(desk));
    introduce();
  }
  // Two frames of this content have come, the first with the first file: more are asked for.
  void begin_with_files_ahead(const std::string& content) {
    begin_session();
    ASSERT_TRUE(send(whole(content)));
    ASSERT_TRUE(late_->is_asked_for(1));
    late_->give(1);
    ASSERT_TRUE(late_->is_finished(1));
    ASSERT_TRUE(send(whole(content)));
    ASSERT_TRUE(late_->is_asked_for(14)) << "one for the frame, and twelve ahead";
    late_->give(2);
    ASSERT_TRUE(late_->is_finished(2));
  }
  // The next frame: its request has its number.
  std::string begun(const std::string& content) {
    return message(PushType::kPush, encode(PushNames{origin(), "f1"}), content.size(),
                   ++frames_) +
           content;
  }
  std::string whole(const std::string& content) {
    std::string bytes = begun(content);
    ContentTag tag(*keys_, frames_ - 1);
    tag.add(content.data(), content.size());
    ContentEnd end = {XXH3_64bits(content.data(), content.size()), tag.finish()};
    return bytes + message(PushType::kContentEnd, std::string(as_text(end)), 0, frames_);
  }
  // The statuses of so many answers, by request.
  std::map<std::uint64_t, int> answers(std::size_t count) {
    std::map<std::uint64_t, int> all;
    PushHeader header;
    Bytes32 mac;
    while (all.size() < count && receive(&header, sizeof header) && receive(&mac, sizeof mac)) {
      all[header.request] = header.status;
    }
    return all;
  }

  LateDesk* late_ = nullptr;
  std::uint64_t frames_ = 0;
};

TEST_F(LateFilesTest, FramesAreTakenBeforeTheirFilesAreThere) {
  begin_session();
  std::string bytes = whole("one");
  bytes += whole("second");
  bytes += whole("");
  ASSERT_TRUE(send(bytes));
  ASSERT_TRUE(late_->is_asked_for(3)) << "the first file is not waited for";
  for (std::uint64_t ticket : {3, 2, 1}) late_->give(ticket);
  EXPECT_EQ(answers(3), (std::map<std::uint64_t, int>{{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(late_->content(1), "one");
  EXPECT_EQ(late_->content(2), "second");
  EXPECT_EQ(late_->content(3), "");
}

TEST_F(LateFilesTest, AFrameWhoseFileIsRefusedHarmsNoOther) {
  begin_session();
  std::string bytes = whole("one");
  bytes += whole("second");
  ASSERT_TRUE(send(bytes));
  ASSERT_TRUE(late_->is_asked_for(2));
  late_->give(1, ENOSPC);
  late_->give(2);
  EXPECT_EQ(answers(2), (std::map<std::uint64_t, int>{{1, ENOSPC}, {2, 0}}));
  EXPECT_EQ(counts_.failed, 1u);
  EXPECT_EQ(late_->content(2), "second");
}

// The file comes in the midst of the content: nothing is lost or swapped.
TEST_F(LateFilesTest, KeptContentComesBeforeTheRest) {
  begin_session();
  std::string content(900'000, 'a');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>('a' + i % 23);
  const std::string bytes = whole(content);
  std::thread sender([&] {
    for (std::string_view rest = bytes; !rest.empty();
         rest.remove_prefix(std::min<std::size_t>(rest.size(), 10'000))) {
      if (!send(rest.substr(0, 10'000))) return;
    }
  });
  EXPECT_TRUE(late_->is_asked_for(1));
  late_->give(1);
  EXPECT_EQ(answers(1), (std::map<std::uint64_t, int>{{1, 0}}));
  sender.join();
  EXPECT_EQ(late_->content(1), content);
}

TEST_F(LateFilesTest, LittleContentIsKept) {
  begin_session();
  constexpr std::uint64_t kFrames = 20;
  std::string bytes;
  // Of different sizes: there are no files ahead.
  for (std::uint64_t i = 0; i < kFrames; ++i) bytes += whole(std::string((64 << 10) - i, 'c'));
  std::thread sender([&] { send(bytes); });
  for (std::uint64_t ticket = 1; ticket <= kFrames; ++ticket) {
    // As many as go into 256 KB, and the one that does not.
    EXPECT_TRUE(late_->is_asked_for(std::min(ticket + 4, kFrames)));
    late_->give(ticket);
  }
  EXPECT_EQ(answers(kFrames).size(), kFrames);
  sender.join();
  EXPECT_EQ(late_->most(), 5u);
}

// zazend gives a worker kMostTickets, for all its connections.
TEST_F(LateFilesTest, ConnectionsShareTheTickets) {
  for (auto [connections, most] : {std::pair(128, 16), {512, 4}, {5'000, 1}, {1, 16}}) {
    config_.max_connections = static_cast<std::uint64_t>(connections);
    frames_ = 0;
    begin_session();
    constexpr std::uint64_t kFrames = 20;
    std::string bytes;
    for (std::uint64_t i = 0; i < kFrames; ++i) bytes += whole("c");
    ASSERT_TRUE(send(bytes));
    for (std::uint64_t ticket = 1; ticket <= kFrames; ++ticket) {
      EXPECT_TRUE(late_->is_asked_for(
          std::min<std::uint64_t>(ticket + static_cast<std::uint64_t>(most) - 1, kFrames)));
      late_->give(ticket);
    }
    EXPECT_EQ(answers(kFrames).size(), kFrames);
    EXPECT_EQ(late_->most(), static_cast<std::size_t>(most)) << connections;
    session_->abort();
    thread_.join();
  }
}

TEST_F(LateFilesTest, AWriterThatLeavesItsFramesBehind) {
  begin_session();
  std::string bytes = whole("whole");
  bytes += begun("half");
  ASSERT_TRUE(send(bytes));
  ASSERT_TRUE(late_->is_asked_for(2));
  socket_.reset();
  std::this_thread::sleep_for(kShort);  // by now the session knows, most likely
  late_->give(1);
  EXPECT_TRUE(late_->is_finished(1)) << "it is complete";
  thread_.join();
  EXPECT_FALSE(late_->is_abandoned(1));
  session_.reset();
  late_->give(2);
  EXPECT_TRUE(late_->is_abandoned(2)) << "nobody needs it, whenever it comes";
}

TEST_F(LateFilesTest, AStopAnswersWhatIsComplete) {
  begin_session();
  ASSERT_TRUE(send(whole("one")));
  ASSERT_TRUE(late_->is_asked_for(1));
  session_->stop();
  late_->give(1);
  EXPECT_EQ(answers(1), (std::map<std::uint64_t, int>{{1, 0}}));
}

TEST_F(LateFilesTest, FilesAreThereAheadForFramesOfOneSize) {
  begin_with_files_ahead("content");
  for (std::uint64_t ticket = 3; ticket <= 8; ++ticket) {
    late_->give(ticket);
    ASSERT_TRUE(send(whole("another")));
    ASSERT_TRUE(late_->is_finished(ticket)) << "the others are not waited for";
    EXPECT_EQ(late_->content(ticket), "another");
  }
  EXPECT_TRUE(late_->is_asked_for(20)) << "half of them are used: six more";
}

TEST_F(LateFilesTest, FilesAheadGoBackAtAFrameOfAnotherSize) {
  begin_with_files_ahead("content");
  for (std::uint64_t ticket = 3; ticket <= 14; ++ticket) late_->give(ticket);
  ASSERT_TRUE(send(whole("long content")));
  ASSERT_TRUE(late_->is_asked_for(15));
  for (std::uint64_t ticket = 3; ticket <= 14; ++ticket)
    EXPECT_TRUE(late_->will_be_abandoned(ticket));
  late_->give(15);
  ASSERT_TRUE(late_->is_finished(15));
  EXPECT_EQ(late_->content(15), "long content");
}

TEST_F(LateFilesTest, AFileThatIsRefusedAheadRefusesNoFrame) {
  begin_with_files_ahead("content");
  for (std::uint64_t ticket = 3; ticket <= 14; ++ticket) late_->give(ticket, ENOSPC);
  ASSERT_TRUE(send(whole("another")));
  ASSERT_TRUE(late_->is_asked_for(15));
  late_->give(15);
  EXPECT_EQ(answers(3), (std::map<std::uint64_t, int>{{1, 0}, {2, 0}, {3, 0}}));
}

TEST_F(LateFilesTest, AQuietWriterHasNoFilesAhead) {
  begin_session(kShort);
  late_->is_prompt = true;
  const std::string first = whole("content");
  ASSERT_TRUE(send(first + whole("another")));
  ASSERT_TRUE(late_->is_asked_for(14));
  for (std::uint64_t ticket = 3; ticket <= 14; ++ticket)
    EXPECT_TRUE(late_->will_be_abandoned(ticket));
}

}  // namespace
}  // namespace zazen
