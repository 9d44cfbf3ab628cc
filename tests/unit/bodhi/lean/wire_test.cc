#include "bodhi/lean/requests/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "bodhi/common/unique_fd.h"
#include "tests/fuzz/example_message.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

constexpr int kSoonMs = 20;
constexpr int kLongMs = 10'000;

std::string frame_message(const MessageRule& rule, const std::string& dataset,
                          const std::string& name) {
  char buffer[kMaxMessage];
  std::size_t size = encode_frame_message(rule.type, 7, rule.flags, dataset.c_str(),
                                          name.c_str(), buffer, sizeof buffer);
  return std::string(buffer, size);
}

std::string plain_message(MessageType type, const std::string& body) {
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = type;
  header.length = static_cast<std::uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

std::string evict_message(MessageType type, const std::string& dataset, std::uint32_t what) {
  EvictBody body = {1, 2, what, static_cast<std::uint32_t>(dataset.size())};
  return plain_message(
      type, std::string(reinterpret_cast<const char*>(&body), sizeof body) + dataset);
}

// With a body that the receiver decodes.
bool takes_any(const MessageRule& rule) {
  return rule.body == BodyForm::kNotice || rule.body == BodyForm::kAny;
}

bool valid(const std::string& packet) {
  return message_is_valid(packet.data(), packet.size());
}

TEST(Wire, FrameMessages) {
  std::string packet = frame_message(*find_rule(MessageType::kFill), "/sim1", "run/f7");
  ASSERT_TRUE(valid(packet));
  MessageHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  EXPECT_EQ(header.type, MessageType::kFill);
  EXPECT_EQ(header.request, 7u);
  EXPECT_EQ(header.flags, kWaitForIt | kNotYetOpened);
  EXPECT_EQ(header.length, packet.size() - sizeof header);
  MessageNames names = message_names(packet.data());
  EXPECT_EQ(std::string(names.dataset, names.dataset_length), "/sim1");
  EXPECT_EQ(std::string(names.name, names.name_length), "run/f7");
}

TEST(Wire, EachMessageHasItsForm) {
  std::set<std::string> names;
  for (const MessageRule& rule : kMessages) {
    SCOPED_TRACE(rule.name);
    EXPECT_TRUE(names.insert(rule.name).second);
    EXPECT_TRUE(valid(example_message(rule)));
    const bool is_new = rule.body == BodyForm::kNewDataset;  // with a template, or without
    const bool is_framed = rule.body == BodyForm::kFrame || is_new;
    const bool names_one = names_dataset(rule.body) || is_new;
    EXPECT_EQ(valid(frame_message(rule, "/sim1", "f7")), is_framed || takes_any(rule));
    const bool is_bare =
        rule.body == BodyForm::kDataset || rule.body == BodyForm::kDatasetOrAll || is_new;
    EXPECT_EQ(valid(frame_message(rule, "/sim1", "")), is_bare || takes_any(rule));
    EXPECT_EQ(valid(example_message(rule, "")),
              !names_one || rule.body == BodyForm::kDatasetOrAll);
    EXPECT_EQ(valid(example_message(rule, "sim1")), !names_one);
    EXPECT_EQ(valid(example_message(rule, "/" + std::string(kMaxPath, 'x'))), !names_one);
    EXPECT_EQ(valid(plain_message(rule.type, "")),
              rule.body == BodyForm::kNone || rule.body == BodyForm::kAny);
    EXPECT_EQ(valid(plain_message(rule.type, "x")), takes_any(rule));
    EXPECT_EQ(valid(plain_message(rule.type, std::string(kLongestNotice + 1, 'x'))),
              rule.body == BodyForm::kAny);
  }
  EXPECT_FALSE(valid(plain_message(static_cast<MessageType>(9), "")));
}

TEST(Wire, NewDatasetIsBounded) {
  const MessageRule& rule = *find_rule(MessageType::kAddDataset);
  EXPECT_TRUE(valid(frame_message(rule, "/sim1", std::string(kMaxTemplate - 1, 'x'))));
  EXPECT_FALSE(valid(frame_message(rule, "/sim1", std::string(kMaxTemplate, 'x'))));
  for (const char letter : {'X', 'Y'}) {
    std::string packet = frame_message(rule, "/sXm1", "fY{seq}");
    EXPECT_TRUE(valid(packet));
    packet[packet.find(letter)] = '\0';
    EXPECT_FALSE(valid(packet)) << letter;
  }
}

TEST(Wire, RangesOfEachMessageMayCarryTheirOwnFlagsOnly) {
  for (std::uint32_t what : {0U, 1U, 7U, 8U, ~0U}) {
    EXPECT_EQ(valid(evict_message(MessageType::kEvict, "/sim1", what)), what <= 7);
    EXPECT_EQ(valid(evict_message(MessageType::kPin, "/sim1", what)), what == 0);
    EXPECT_EQ(valid(evict_message(MessageType::kUnpin, "/sim1", what)), what == 0);
  }
}

TEST(Wire, FlagsAndDescriptorsThatARowDoesNotAllowAreRefused) {
  for (const MessageRule& rule : kMessages) {
    SCOPED_TRACE(rule.name);
    for (int bit = 0; bit < 32; ++bit) {
      std::string packet = example_message(rule);
      const std::uint32_t flags = std::uint32_t{1} << bit;
      std::memcpy(packet.data() + offsetof(MessageHeader, flags), &flags, sizeof flags);
      EXPECT_EQ(valid(packet), (rule.flags & flags) != 0) << bit;
    }
    const std::string packet = example_message(rule);
    EXPECT_EQ(message_is_valid(packet.data(), packet.size(), Descriptor::kOne),
              rule.descriptor != Descriptor::kNone);
    EXPECT_EQ(message_is_valid(packet.data(), packet.size(), Descriptor::kNone),
              rule.descriptor != Descriptor::kOne);
  }
}

TEST(Wire, ATableOfItsOwnHasItsOwnMessages) {
  constexpr MessageRule kOthers[] = {{.type = MessageType::kStatus,
                                      .name = "status",
                                      .body = BodyForm::kDataset,
                                      .descriptor = Descriptor::kOne,
                                      .flags = 0x100}};
  auto is_one = [&](const std::string& packet, Descriptor came = Descriptor::kEither) {
    return message_is_valid(packet.data(), packet.size(), came, kOthers);
  };
  const std::string packet = example_message(kOthers[0], "/other");
  EXPECT_TRUE(is_one(packet, Descriptor::kOne));
  EXPECT_FALSE(is_one(packet, Descriptor::kNone));
  EXPECT_FALSE(valid(packet));
  MessageNames names = message_names(packet.data(), kOthers);
  EXPECT_EQ(std::string(names.dataset, names.dataset_length), "/other");
  for (const MessageRule& rule : kMessages) EXPECT_FALSE(is_one(example_message(rule)));
}

// The fuzzer starts from these: fuzz_seeds writes one for each row.
TEST(Wire, EachMessageHasASeedForTheFuzzer) {
  std::set<MessageType> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(ZAZEN_WIRE_SEEDS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string packet{std::istreambuf_iterator<char>(file), {}};
    MessageHeader header;
    if (!valid(packet)) continue;
    std::memcpy(&header, packet.data(), sizeof header);
    seeds.insert(header.type);
  }
  for (const MessageRule& rule : kMessages) EXPECT_TRUE(seeds.contains(rule.type)) << rule.name;
}

TEST(Wire, TruncatedAtEveryLengthIsRefused) {
  for (const MessageRule& rule : kMessages) {
    SCOPED_TRACE(rule.name);
    std::string packet = example_message(rule);
    ASSERT_TRUE(valid(packet));
    for (std::size_t length = 0; length < packet.size(); ++length) {
      // A heap copy of just that size: a sanitizer sees a byte read too many.
      std::vector<char> copy(packet.begin(), packet.begin() + static_cast<long>(length));
      EXPECT_FALSE(message_is_valid(copy.data(), copy.size())) << length;
    }
    EXPECT_FALSE(valid(packet + "x"));
    if (takes_any(rule)) continue;
    // The same with a header that agrees with the length.
    for (std::size_t length = sizeof(MessageHeader); length < packet.size(); ++length) {
      std::vector<char> cut(packet.begin(), packet.begin() + static_cast<long>(length));
      std::uint32_t body = static_cast<std::uint32_t>(length - sizeof(MessageHeader));
      std::memcpy(cut.data() + offsetof(MessageHeader, length), &body, sizeof body);
      EXPECT_FALSE(message_is_valid(cut.data(), cut.size())) << length;
    }
  }
}

TEST(Wire, DamagedHeadersAndNulsAreRefused) {
  std::string good = frame_message(*find_rule(MessageType::kFill), "/sim1", "f7");
  for (std::size_t at : {0, 4, 6, 8}) {  // magic, version, type, length
    std::string packet = good;
    packet[at] = static_cast<char>(packet[at] ^ 0x40);
    EXPECT_FALSE(valid(packet)) << at;
  }
  for (std::size_t at = sizeof(MessageHeader) + sizeof(FrameBody); at < good.size(); ++at) {
    std::string packet = good;
    packet[at] = '\0';
    EXPECT_FALSE(valid(packet)) << at;
  }
  std::string evict = evict_message(MessageType::kEvict, "/sim1", kEvictAliens);
  evict.back() = '\0';
  EXPECT_FALSE(valid(evict));
}

TEST(Wire, SurvivesHostileBytes) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100'000; ++i) {
    const std::string good = example_message(kMessages[random() % std::size(kMessages)]);
    std::vector<char> packet(good.begin(),
                             good.begin() + static_cast<long>(random() % (good.size() + 1)));
    for (int n = static_cast<int>(random() % 4); n > 0 && !packet.empty(); --n) {
      packet[random() % packet.size()] = static_cast<char>(random());
    }
    if (!message_is_valid(packet.data(), packet.size())) continue;
    MessageNames names = message_names(packet.data());
    if (names.name == nullptr) continue;
    ASSERT_EQ(names.name + names.name_length, packet.data() + packet.size());
  }
}

TEST(Wire, TooLongIsNotEncoded) {
  char buffer[64];
  EXPECT_EQ(encode_frame_message(MessageType::kFill, 1, 0, "/sim1",
                                 std::string(64, 'x').c_str(), buffer, sizeof buffer),
            0u);
  EXPECT_EQ(encode_frame_message(MessageType::kFill, 1, 0, "/s", "f", buffer, 38), 0u);
  EXPECT_EQ(encode_frame_message(MessageType::kFill, 1, 0, "/s", "f", buffer, 39), 39u);
  EXPECT_EQ(encode_frame_message(MessageType::kFill, 1, 0, "/s", "f", buffer, 0), 0u);
  std::string large(100'000, 'x');
  std::vector<char> room(200'000);
  EXPECT_EQ(encode_frame_message(MessageType::kFill, 1, 0, "/s", large.c_str(), room.data(),
                                 room.size()),
            0u);
}

class SocketPairTest : public testing::Test {
 protected:
  SocketPairTest() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    here_.reset(fds[0]);
    there_.reset(fds[1]);
  }
  int receive(int timeout_ms = kLongMs) {
    return receive_message(there_.get(), buffer_, sizeof buffer_, &fd_, timeout_ms);
  }

  UniqueFd here_, there_;
  char buffer_[256];
  int fd_ = -2;
};

TEST_F(SocketPairTest, PacketsAndDescriptors) {
  errno = EDOM;
  ASSERT_EQ(send_message(here_.get(), "abc", 3, -1, kLongMs), 0);
  EXPECT_EQ(receive(), 3);
  EXPECT_EQ(std::string(buffer_, 3), "abc");
  EXPECT_EQ(fd_, -1);

  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  UniqueFd reading(pipe_ends[0]), writing(pipe_ends[1]);
  ASSERT_EQ(send_message(here_.get(), "d", 1, writing.get(), kLongMs), 0);
  writing.reset();
  EXPECT_EQ(receive(), 1);
  UniqueFd passed(fd_);
  ASSERT_TRUE(passed.valid());
  EXPECT_EQ(::fcntl(passed.get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(passed.get(), "x", 1), 1);
  char byte;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 1);
  EXPECT_EQ(errno, EDOM);
}

TEST_F(SocketPairTest, NobodyWaitsForEver) {
  EXPECT_EQ(receive(kSoonMs), -ETIMEDOUT);
  EXPECT_EQ(receive(0), -ETIMEDOUT);
  std::string packet(1024, 'x');
  int result = 0;
  for (int i = 0; i < 100'000 && result == 0; ++i) {
    result = send_message(here_.get(), packet.data(), packet.size(), -1, i < 10 ? kLongMs : 0);
  }
  EXPECT_EQ(result, -ETIMEDOUT);
}

TEST_F(SocketPairTest, APeerThatIsGone) {
  there_.reset();
  EXPECT_EQ(send_message(here_.get(), "abc", 3, -1, kLongMs), -EPIPE);  // and no SIGPIPE
  int fd;
  EXPECT_EQ(receive_message(here_.get(), buffer_, sizeof buffer_, &fd, kLongMs), 0);
}

TEST_F(SocketPairTest, TooLargePacketsAndSurplusDescriptorsAreDropped) {
  std::size_t files = entries_in("/proc/self/fd");
  std::string large(sizeof buffer_ + 1, 'x');
  ASSERT_EQ(send_message(here_.get(), large.data(), large.size(), here_.get(), kLongMs), 0);
  EXPECT_EQ(receive(), -EMSGSIZE);
  EXPECT_EQ(fd_, -1);
  EXPECT_EQ(entries_in("/proc/self/fd"), files);

  for (int count : {2, 20}) {
    std::vector<int> fds(static_cast<std::size_t>(count), here_.get());
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    struct iovec part = {const_cast<char*>("y"), 1};
    struct msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    ASSERT_EQ(::sendmsg(here_.get(), &message, 0), 1);
    EXPECT_EQ(receive(), 1);
    UniqueFd kept(fd_);
    EXPECT_TRUE(kept.valid());
    kept.reset();
    EXPECT_EQ(entries_in("/proc/self/fd"), files);
  }
}

// A daemon's socket, with room for `backlog` clients that nobody accepted yet.
UniqueFd listening_socket(const std::string& runtime, int backlog) {
  UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  struct sockaddr_un address;
  std::size_t size = socket_address(directory.get(), &address);
  EXPECT_EQ(
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)),
      0)
      << std::strerror(errno);
  EXPECT_EQ(::listen(socket.get(), backlog), 0);
  return socket;
}

TEST(Connect, LongRuntimePathsWork) {
  Scratch scratch;
  std::string runtime = scratch.path();
  for (int i = 0; i < 4; ++i) runtime += "/" + std::string(60, 'r') + " \xc3\xa4";
  std::filesystem::create_directories(runtime);
  EXPECT_EQ(connect_daemon(runtime.c_str(), kSoonMs), -ENOENT);
  UniqueFd server = listening_socket(runtime, 5);
  EXPECT_TRUE(std::filesystem::exists(runtime + "/socket"));

  std::size_t files = entries_in("/proc/self/fd");
  errno = EDOM;
  UniqueFd client(connect_daemon(runtime.c_str(), kLongMs));
  ASSERT_TRUE(client.valid());
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(::fcntl(client.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(entries_in("/proc/self/fd"), files + 1);
  UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
  EXPECT_TRUE(accepted.valid());

  server.reset();
  EXPECT_EQ(connect_daemon(runtime.c_str(), kSoonMs), -ECONNREFUSED);
  EXPECT_EQ(connect_daemon((scratch / "none").c_str(), kSoonMs), -ENOENT);
}

TEST(Connect, AFullBacklogIsWaitedForWithinBounds) {
  Scratch scratch;
  UniqueFd server = listening_socket(scratch.path(), 0);
  UniqueFd first(connect_daemon(scratch.path().c_str(), kLongMs));
  ASSERT_TRUE(first.valid());
  EXPECT_EQ(connect_daemon(scratch.path().c_str(), kSoonMs), -ETIMEDOUT);
  UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
  UniqueFd second(connect_daemon(scratch.path().c_str(), kLongMs));
  EXPECT_TRUE(second.valid());
}

}  // namespace
}  // namespace zazen
