// The limits in time of one writer's session, over a real socket, with a real store: who is
// silent, or too slow with what it has begun, is closed; who keeps to them is not. The limits
// are short here, or so long that nobody could wait for them.
#include "daemon/worker/push_session.h"

#include <sys/socket.h>
#include <xxhash.h>

#include <thread>

#include "daemon/store.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{50}, kForEver{3'600'000};
constexpr time_t kPatienceSeconds = 30;

using Take = std::function<void(std::function<void(int)> done)>;

// What zazend does for a session, in this process.
class LocalDesk : public PushDesk {
 public:
  LocalDesk(const Config& config, Store& store, Take take)
      : config_(config), store_(store), take_(std::move(take)) {}

  int begin(std::uint32_t dataset, FrameSeq, std::uint64_t, BeginFill::Reply* reply) override {
    file_ = store_.make_temporary(dataset);
    reply->ticket = 1;
    reply->file.reset(::fcntl(file_.fd(), F_DUPFD_CLOEXEC, 0));
    return 0;
  }
  void finish(const FinishPush&, std::function<void(int)> done) override {
    take_(std::move(done));
  }
  void abandon(std::uint64_t, int) override {}
  Result<std::string> natives(std::uint32_t dataset) override {
    Result<FrameSet> natives = read_sequence_log(config_.cache +
                                                 config_.datasets[dataset].path + "/" + kNativeLog);
    if (!natives.ok()) return natives.error();
    return natives->encode();
  }
  int take_notice(std::string_view) override { return ENOTSUP; }
  bool is_disk_usable() override { return true; }
  Result<MungeSecret> decode_munge(const std::string& credential) override {
    return decode_munge_credential(credential);
  }

 private:
  const Config& config_;
  Store& store_;
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
      const PushLimits& limits,
      Take take = [](std::function<void(int)> done) { done(0); }) {
    desk_ = std::make_unique<LocalDesk>(config_, *store_, std::move(take));
    terms_.reset(
        new PushTerms{config_, *desk_, ring_, counts_, RateLimit(0), kByKey, ::geteuid(), limits});
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

  std::string message(PushType type, const std::string& body, std::uint64_t content_bytes = 0) {
    PushHeader header = {};
    header.type = type;
    header.request = 7;
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
  // By the other side, before anybody loses patience.
  bool is_closed() {
    char byte;
    return ::recv(socket_.get(), &byte, 1, 0) == 0;
  }

  const std::string kKey = std::string(32, 'k');
  std::unique_ptr<Store> store_;
  PushCounts counts_;
  KeyRing ring_;
  std::unique_ptr<LocalDesk> desk_;
  std::unique_ptr<PushTerms> terms_;
  UniqueFd socket_;
  std::unique_ptr<PushSession> session_;
  std::thread thread_;
  std::unique_ptr<PushKeys> keys_;
};

// A disk that takes its time is not silent.
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
  start({kForEver, kShort, kForEver, 1});  // so many bytes, so many seconds
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

}  // namespace
}  // namespace zazen
