// The messages of a push. Each side takes the messages that the other one sends, and no others.
// Keys and MACs are of one session and of one place in it.
#include "bodhi/push/push_wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/push_address.h"
#include "bodhi/push/push_keys.h"
#include "bodhi/push/push_target.h"

namespace zazen {
namespace {

PushHeader header_of(PushType type, std::uint32_t length) {
  PushHeader header = {};
  header.type = type;
  header.length = length;
  return header;
}

TEST(PushWire, NamesComeBack) {
  PushNames names;
  ASSERT_TRUE(decode(encode(PushNames{"/sim1", "run1/f7"}), &names));
  EXPECT_EQ(names.dataset, "/sim1");
  EXPECT_EQ(names.name, "run1/f7");
  ASSERT_TRUE(decode(encode(PushNames{"/sim1", ""}), &names));
  EXPECT_EQ(names.name, "");
}

TEST(PushWire, NamesThatAreNoneAreRefused) {
  PushNames names;
  EXPECT_FALSE(decode("", &names));
  EXPECT_FALSE(decode("abc", &names));
  EXPECT_FALSE(decode(encode(PushNames{"sim1", "f7"}), &names));
  EXPECT_FALSE(decode(encode(PushNames{"", "f7"}), &names));
  EXPECT_FALSE(decode(encode(PushNames{"/sim1", std::string("f\0", 2)}), &names));
  EXPECT_FALSE(decode(encode(PushNames{std::string("/s\0", 3), "f7"}), &names));
  std::string body = encode(PushNames{"/sim1", "f7"});
  EXPECT_FALSE(decode(body + "x", &names));
  EXPECT_FALSE(decode(body.substr(0, body.size() - 1), &names));
}

TEST(PushWire, EachSideSendsItsOwnMessages) {
  for (PushSide side : {PushSide::kWriter, PushSide::kDaemon}) {
    bool writer = side == PushSide::kWriter;
    EXPECT_EQ(is_valid(header_of(PushType::kPush, 20), side), writer);
    EXPECT_EQ(is_valid(header_of(PushType::kNatives, 20), side), writer);
    EXPECT_EQ(is_valid(header_of(PushType::kContentEnd, sizeof(ContentEnd)), side), writer);
    EXPECT_EQ(is_valid(header_of(PushType::kAnswer, 0), side), !writer);
    EXPECT_EQ(is_valid(header_of(PushType::kNativesAnswer, 9), side), !writer);
    EXPECT_EQ(is_valid(header_of(PushType::kWorking, 0), side), !writer);
    EXPECT_FALSE(is_valid(header_of(PushType{0}, 0), side));
    EXPECT_EQ(is_valid(header_of(PushType::kNotice, 20), side), writer);
    EXPECT_EQ(is_valid(header_of(PushType::kNativesPart, 9), side), !writer);
    EXPECT_EQ(is_valid(header_of(PushType::kRequest, 40), side), writer);
    EXPECT_EQ(is_valid(header_of(PushType::kReply, 9), side), !writer);
    EXPECT_EQ(is_valid(header_of(PushType::kReplyPart, 9), side), !writer);
    EXPECT_FALSE(is_valid(header_of(PushType{12}, 0), side));
  }
}

TEST(PushWire, LengthsAndFieldsHaveBounds) {
  constexpr PushSide kWriter = PushSide::kWriter, kDaemon = PushSide::kDaemon;
  EXPECT_FALSE(is_valid(header_of(PushType::kPush, kLongestPushBody + 1), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kNotice, 0), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kNotice, kLongestNotice + 1), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kPush, 4), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kContentEnd, sizeof(ContentEnd) + 1), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kAnswer, 1), kDaemon));
  EXPECT_FALSE(is_valid(header_of(PushType::kWorking, 1), kDaemon));
  EXPECT_TRUE(is_valid(header_of(PushType::kNativesAnswer, 0), kDaemon));
  EXPECT_FALSE(is_valid(header_of(PushType::kNativesPart, 0), kDaemon));
  EXPECT_FALSE(is_valid(header_of(PushType::kRequest, 8), kWriter));
  EXPECT_TRUE(is_valid(header_of(PushType::kRequest, kLongestRequest), kWriter));
  EXPECT_FALSE(is_valid(header_of(PushType::kRequest, kLongestRequest + 1), kWriter));
  EXPECT_TRUE(is_valid(header_of(PushType::kReply, kMaxMessage), kDaemon));
  EXPECT_FALSE(is_valid(header_of(PushType::kReply, kMaxMessage + 1), kDaemon));
  EXPECT_FALSE(is_valid(header_of(PushType::kReplyPart, 0), kDaemon));
  for (PushType type :
       {PushType::kNativesAnswer, PushType::kNativesPart, PushType::kReplyPart}) {
    EXPECT_TRUE(is_valid(header_of(type, kLongestNativesPart), kDaemon));
    EXPECT_FALSE(is_valid(header_of(type, kLongestNativesPart + 1), kDaemon));
  }
  PushHeader header = header_of(PushType::kPush, 20);
  header.content_bytes = ~std::uint64_t{0};  // whether it is too large is the daemon's question
  EXPECT_TRUE(is_valid(header, kWriter));
  header.status = 1;
  EXPECT_FALSE(is_valid(header, kWriter));
  header = header_of(PushType::kNatives, 20);
  header.content_bytes = 1;
  EXPECT_FALSE(is_valid(header, kWriter));
  header = header_of(PushType::kAnswer, 0);
  header.status = -1;
  EXPECT_FALSE(is_valid(header, kDaemon));
  header.status = 0;
  header.reserved = 1;
  EXPECT_FALSE(is_valid(header, kDaemon));
}

TEST(PushWire, RequestsComeBackAsTheyWere) {
  PushRequest request;
  ASSERT_TRUE(decode(encode(PushRequest{std::string("a\0b", 3), "MUNGE:"}), &request));
  EXPECT_EQ(request.packet, std::string("a\0b", 3));
  EXPECT_EQ(request.credential, "MUNGE:");
  const std::string body = encode(PushRequest{std::string(kMaxMessage, 'p'), ""});
  EXPECT_TRUE(decode(body, &request));
  EXPECT_FALSE(decode(body + "x", &request));
  EXPECT_FALSE(decode(body.substr(0, body.size() - 1), &request));
  EXPECT_FALSE(decode(body.substr(0, 7), &request));
  EXPECT_FALSE(decode(encode(PushRequest{std::string(kMaxMessage + 1, 'p'), ""}), &request));
  EXPECT_FALSE(decode(encode(PushRequest{"p", std::string("a\0", 2)}), &request));
  EXPECT_FALSE(
      decode(encode(PushRequest{"p", std::string(kLongestCredential + 1, 'c')}), &request));
}

TEST(PushWire, OnlyMungeHasACredential) {
  PushIntroduction introduction = {};
  introduction.magic = kPushMagic;
  introduction.version = kPushVersion;
  introduction.method = kByKey;
  introduction.peer_length = 1;
  EXPECT_TRUE(is_valid(introduction));
  introduction.credential_length = 1;
  EXPECT_FALSE(is_valid(introduction));
  introduction.method = kByMunge;
  EXPECT_TRUE(is_valid(introduction));
  introduction.credential_length = kLongestCredential + 1;
  EXPECT_FALSE(is_valid(introduction));
  introduction.credential_length = 0;
  EXPECT_FALSE(is_valid(introduction));
  introduction.method = kByKey | kByLoopback;
  EXPECT_FALSE(is_valid(introduction));
  introduction.method = kByKey;
  introduction.version = kPushVersion - 1;
  EXPECT_FALSE(is_valid(introduction));
}

TEST(PushWire, AWriterNamesTheNode) {
  PushIntroduction introduction = {};
  introduction.magic = kPushMagic;
  introduction.version = kPushVersion;
  introduction.method = kByKey;
  EXPECT_FALSE(is_valid(introduction));
  introduction.peer_length = kLongestPeer;
  EXPECT_TRUE(is_valid(introduction));
  introduction.peer_length = kLongestPeer + 1;
  EXPECT_FALSE(is_valid(introduction));
}

class PushKeysTest : public ::testing::Test {
 protected:
  static constexpr char kPeer[] = "n0:7117";
  PushHello hello_ = {};
  PushIntroduction introduction_ = {};
};

TEST_F(PushKeysTest, BothSidesHaveTheSame) {
  hello_.nonce = random_bytes();
  introduction_.nonce = random_bytes();
  PushKeys writer("secret", hello_, introduction_, kPeer);
  introduction_.proof = writer.proof_of_writer();  // is not part of what it proves
  PushKeys daemon("secret", hello_, introduction_, kPeer);
  EXPECT_EQ(writer.proof_of_writer(), daemon.proof_of_writer());
  EXPECT_EQ(writer.proof_of_daemon(), daemon.proof_of_daemon());
  EXPECT_NE(writer.proof_of_writer(), writer.proof_of_daemon());
  PushHeader header = header_of(PushType::kPush, 4);
  EXPECT_EQ(writer.mac(PushSide::kWriter, header, "body"),
            daemon.mac(PushSide::kWriter, header, "body"));
}

TEST_F(PushKeysTest, AnotherSecretOrAnotherBeginningMakesOtherKeys) {
  Bytes32 proof = PushKeys("secret", hello_, introduction_, kPeer).proof_of_writer();
  EXPECT_NE(PushKeys("Secret", hello_, introduction_, kPeer).proof_of_writer(), proof);
  EXPECT_NE(PushKeys("", hello_, introduction_, kPeer).proof_of_writer(), proof);
  PushHello hello = hello_;
  hello.nonce[31] ^= 1;
  EXPECT_NE(PushKeys("secret", hello, introduction_, kPeer).proof_of_writer(), proof);
  hello = hello_;
  hello.methods ^= kByLoopback;  // nobody talks the two down to less
  EXPECT_NE(PushKeys("secret", hello, introduction_, kPeer).proof_of_writer(), proof);
  PushIntroduction introduction = introduction_;
  introduction.nonce[0] ^= 1;
  EXPECT_NE(PushKeys("secret", hello_, introduction, kPeer).proof_of_writer(), proof);
}

// So nobody passes a session on to another node.
TEST_F(PushKeysTest, AnotherNodeMakesOtherKeys) {
  Bytes32 proof = PushKeys("secret", hello_, introduction_, kPeer).proof_of_writer();
  EXPECT_NE(PushKeys("secret", hello_, introduction_, "n1:7117").proof_of_writer(), proof);
  for (int i = 0; i < 3; ++i) {
    PushIntroduction introduction = introduction_;
    if (i == 0) introduction.target.address[15] ^= 1;
    if (i == 1) introduction.target.port ^= 1;
    if (i == 2) introduction.target.machine[35] ^= 1;
    EXPECT_NE(PushKeys("secret", hello_, introduction, kPeer).proof_of_writer(), proof) << i;
  }
}

TEST_F(PushKeysTest, AMacIsOfOnePlaceInTheSession) {
  PushKeys keys("secret", hello_, introduction_, kPeer),
      again("secret", hello_, introduction_, kPeer);
  PushHeader header = header_of(PushType::kPush, 4);
  Bytes32 first = keys.mac(PushSide::kWriter, header, "body");
  EXPECT_NE(keys.mac(PushSide::kWriter, header, "body"), first);  // the next message
  EXPECT_NE(again.mac(PushSide::kDaemon, header, "body"), first);
  header.request = 1;
  EXPECT_NE(again.mac(PushSide::kWriter, header, "body"), first);
}

TEST_F(PushKeysTest, TheTagIsOfTheContentAndOfOneFrame) {
  PushKeys keys("secret", hello_, introduction_, kPeer),
      other("other", hello_, introduction_, kPeer);
  auto tag = [](const PushKeys& of, std::uint64_t number, std::string_view a,
                std::string_view b = {}) {
    ContentTag one(of, number);
    one.add(a.data(), a.size());
    one.add(b.data(), b.size());
    return one.finish();
  };
  EXPECT_EQ(tag(keys, 0, "hello"), tag(keys, 0, "he", "llo"));
  EXPECT_NE(tag(keys, 0, "hello"), tag(keys, 0, "jello"));
  EXPECT_NE(tag(keys, 0, "hello"), tag(keys, 1, "hello"));
  EXPECT_NE(tag(keys, 0, "hello"), tag(other, 0, "hello"));
}

class PushTargetTest : public ::testing::Test {
 protected:
  // The writer's end and the daemon's end of a connection to `host`.
  std::pair<UniqueFd, UniqueFd> connect(const char* host) {
    SocketAddress at = resolve({host, "0"}, true)->front();
    auto* address = reinterpret_cast<sockaddr*>(&at.storage);
    UniqueFd listener(::socket(at.storage.ss_family, SOCK_STREAM, 0));
    UniqueFd writer(::socket(at.storage.ss_family, SOCK_STREAM, 0));
    EXPECT_EQ(::bind(listener.get(), address, at.size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), address, &at.size), 0);
    EXPECT_EQ(::connect(writer.get(), address, at.size), 0);
    return {std::move(writer), UniqueFd(::accept(listener.get(), nullptr, nullptr))};
  }
};

TEST_F(PushTargetTest, BothEndsKnowTheSameNode) {
  for (const char* host : {"127.0.0.1", "0.0.0.0"}) {  // the second dials this machine, too
    auto [writer, daemon] = connect(host);
    const PushTarget target = dialled_target(writer.get());
    EXPECT_EQ(target, own_target(daemon.get())) << host;
    EXPECT_EQ(target.address[12], 127) << host;
    EXPECT_NE(target.machine[0], '\0') << host;  // each machine has this address
    EXPECT_NE(target, dialled_target(daemon.get())) << host;
    EXPECT_NE(target, own_target(connect(host).second.get())) << host;  // another port
  }
}

TEST(PushAddress, HostsAndPorts) {
  std::optional<PushAddress> address = parse_push_address("n0.cluster:7117");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->host, "n0.cluster");
  EXPECT_EQ(address->port, "7117");
  address = parse_push_address("[fe80::1]:1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->host, "fe80::1");
  for (const char* wrong : {"", "n0", "n0:", ":7117", "n0:0", "n0:65536", "n0:-1", "n0:7 ",
                            "::1:7117", "[::1]", "[]:7117", "[n0]:7117", "a/b:1", "n 0:1"}) {
    EXPECT_FALSE(parse_push_address(wrong)) << wrong;
  }
}

TEST(PushAddress, Loopback) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(resolve({host, "7117"}, true)->front().is_loopback()) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "128.0.0.1"}) {
    EXPECT_FALSE(resolve({host, "7117"}, true)->front().is_loopback()) << host;
  }
}

}  // namespace
}  // namespace zazen
