// The messages between zazend and its workers, as zazend must read them: from anybody.
#include "daemon/link/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <future>
#include <set>
#include <thread>

#include "daemon/worker/cache/cache_link.h"
#include "tests/fuzz/example_link.h"

namespace zazen {
namespace {

// ---- Bodies

template <class... Messages, class Check>
void for_each(std::tuple<Messages...>*, Check check) {
  (check.template operator()<Messages>(), ...);
}

// Of each ask and each order, and of its reply.
template <class Check>
void for_all_bodies(Check check) {
  auto both = [&]<class Message>() {
    SCOPED_TRACE(static_cast<int>(kLinkType<Message>));
    check.template operator()<Message>();
    SCOPED_TRACE("its reply");
    check.template operator()<LinkReply<Message>>();
  };
  for_each(static_cast<LinkAsks*>(nullptr), both);
  for_each(static_cast<LinkOrders*>(nullptr), both);
}

template <class Message>
bool decodes(std::string_view bytes) {
  Message message;
  return decode_link_body(bytes, &message);
}

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

TEST(LinkCodecTest, WhatIsEncodedIsDecodedAgain) {
  for_all_bodies([]<class Message>() {
    Message message = example_link_message<Message>();
    const std::string bytes = encode_link_body(message);
    Message decoded = example_link_message<Message>(100);  // nothing of it stays
    ASSERT_TRUE(decode_link_body(bytes, &decoded));
    EXPECT_EQ(encode_link_body(decoded), bytes);
    Message empty;
    const std::string least = encode_link_body(empty);
    ASSERT_TRUE(decode_link_body(least, &decoded));
    EXPECT_EQ(encode_link_body(decoded), least);
  });
}

TEST(LinkCodecTest, EachFieldIsInItsPlace) {
  BeginFill offer = example_link_message<BeginFill>();
  BeginFill decoded;
  ASSERT_TRUE(decode_link_body(encode_link_body(offer), &decoded));
  EXPECT_EQ(decoded.dataset, offer.dataset);
  EXPECT_EQ(decoded.seq, offer.seq);
  EXPECT_EQ(decoded.kind, offer.kind);
  EXPECT_EQ(decoded.is_idle, offer.is_idle);
  EXPECT_EQ(decoded.is_content, offer.is_content);
  EXPECT_EQ(decoded.waits, offer.waits);
  EXPECT_EQ(decoded.replaces, offer.replaces);
  EXPECT_EQ(decoded.origin.st.st_ctim.tv_nsec, offer.origin.st.st_ctim.tv_nsec);
  EXPECT_EQ(decoded.origin.acl.value, offer.origin.acl.value);
  EXPECT_EQ(decoded.origin.reached, offer.origin.reached);
  RightsAtOrigin rights = example_link_message<RightsAtOrigin>(), seen;
  ASSERT_TRUE(decode_link_body(encode_link_body(rights), &seen));
  ASSERT_TRUE(seen.frame_directory);
  EXPECT_EQ(seen.directories, rights.directories);
  EXPECT_EQ(seen.listers, rights.listers);
  EXPECT_EQ(seen.frame_directory->born_ns, rights.frame_directory->born_ns);
}

TEST(LinkCodecTest, EachTypeHasOneMessage) {
  std::set<LinkType> types;
  std::size_t messages = 0;
  auto add = [&]<class Message>() {
    types.insert(kLinkType<Message>);
    ++messages;
  };
  for_each(static_cast<LinkAsks*>(nullptr), add);
  for_each(static_cast<LinkOrders*>(nullptr), add);
  EXPECT_EQ(types.size(), messages);
}

TEST(LinkCodecTest, ABodyThatIsTooShortOrTooLongIsRefused) {
  for_all_bodies([]<class Message>() {
    Message message = example_link_message<Message>();
    const std::string bytes = encode_link_body(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decodes<Message>(std::string_view(bytes).substr(0, size))) << size;
    }
    EXPECT_FALSE(decodes<Message>(bytes + '\0'));
    EXPECT_FALSE(decodes<Message>(bytes + bytes + '\1'));
  });
}

TEST(LinkCodecTest, ALengthThatLiesTakesNoMemory) {
  constexpr std::uint32_t kVeryMany = 0xffff'ffff;
  constexpr std::size_t kFew = 64;
  const std::string ten = as_bytes(kVeryMany) + std::string(6, '\1');
  ListAsk list;
  EXPECT_FALSE(decode_link_body(ten, &list));
  EXPECT_LE(list.datasets.capacity(), kFew);
  OriginFindings status;
  EXPECT_FALSE(decode_link_body('\1' + ten, &status));
  EXPECT_LE(status.warnings.capacity() + status.problems.capacity(), kFew);
  Notice notice;
  EXPECT_FALSE(decode_link_body(ten, &notice));
  EXPECT_LE(notice.bytes.capacity(), kFew);
  // As many as there are bytes, but each takes more of them.
  FinishListing listing;
  const std::string zeros(kLongestLinkBody, '\0');
  const std::string lie =
      as_bytes(std::uint64_t{1}) + as_bytes(static_cast<std::uint32_t>(zeros.size())) + zeros;
  EXPECT_FALSE(decode_link_body(lie, &listing));
  EXPECT_LE(listing.reached.capacity() * sizeof(ReachedDirectory), 16 * zeros.size());
  // The length of the second string of two.
  OriginFindings second;
  second.problems = {"a", "b"};
  std::string bytes = encode_link_body(second);
  bytes.replace(bytes.size() - 5, 4, as_bytes(kVeryMany));
  EXPECT_FALSE(decode_link_body(bytes, &status));
}

struct OneOptional {
  std::optional<std::uint8_t> value;
  template <class A>
  void fields(A& a) {
    a(value);
  }
};

TEST(LinkCodecTest, ABoolIsZeroOrOne) {
  Changed changed;
  std::string bytes = encode_link_body(changed);
  for (int last = 0; last < 256; ++last) {
    bytes.back() = static_cast<char>(last);
    EXPECT_EQ(decodes<Changed>(bytes), last <= 1) << last;
  }
  EXPECT_TRUE(decodes<OneOptional>("\1x"));
  EXPECT_FALSE(decodes<OneOptional>("\2x")) << "is there one?";
}

struct OneMap {
  std::map<std::uint32_t, bool> map;
  template <class A>
  void fields(A& a) {
    a(map);
  }
};

// Otherwise two messages would say the same.
TEST(LinkCodecTest, AMapHasItsKeysInOrderAndOnce) {
  auto encoded = [](std::vector<std::uint32_t> keys) {
    std::string bytes = as_bytes(static_cast<std::uint32_t>(keys.size()));
    for (std::uint32_t key : keys) bytes += as_bytes(key) + '\1';
    return bytes;
  };
  EXPECT_TRUE(decodes<OneMap>(encoded({})));
  EXPECT_TRUE(decodes<OneMap>(encoded({7, 8})));
  EXPECT_FALSE(decodes<OneMap>(encoded({8, 7})));
  EXPECT_FALSE(decodes<OneMap>(encoded({7, 7})));
}

// ---- Packets

class LinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<LinkEnds> ends = make_link();
    ASSERT_TRUE(ends.ok());
    ends_ = std::move(*ends);
  }

  static LinkPacket example(std::string body = "body") {
    LinkPacket packet;
    packet.type = kLinkType<FinishFill>;
    packet.is_reply = true;
    packet.request = 0x1234'5678'9abc;
    packet.status = -7;
    packet.body = std::move(body);
    return packet;
  }
  // As a worker sends it.
  static std::string bytes_of(const LinkPacket& packet) {
    LinkEnds apart = std::move(*make_link());
    LinkWriter writer(apart.worker_send.get());
    EXPECT_TRUE(writer.send(packet));
    std::string bytes(kLongestLinkBody + 1024, '\0');
    ssize_t size = ::read(apart.receive.get(), bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return bytes;
  }
  void write(std::string_view bytes) {
    ASSERT_EQ(::write(ends_.worker_send.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  LinkReader::Got next() { return reader_.next(ends_.receive.get(), &packet_); }
  // zazend's reading of these bytes of a header.
  LinkReader::Got read_with(std::size_t at, std::string_view changed) {
    reader_ = {};
    std::string bytes = bytes_of(example(""));
    bytes.replace(at, changed.size(), changed);
    write(bytes);
    return next();
  }
  static constexpr std::size_t kLengthAt = 4, kIsReplyAt = 10, kRequestAt = 16;

  LinkEnds ends_;
  LinkReader reader_;
  LinkPacket packet_;
};

TEST_F(LinkTest, APacketComesInOnePiece) {
  EXPECT_EQ(next(), LinkReader::Got::kNothing);
  write(bytes_of(example()));
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.type, kLinkType<FinishFill>);
  EXPECT_TRUE(packet_.is_reply);
  EXPECT_EQ(packet_.request, example().request);
  EXPECT_EQ(packet_.status, -7);
  EXPECT_EQ(packet_.body, "body");
  EXPECT_EQ(next(), LinkReader::Got::kNothing);
}

TEST_F(LinkTest, APacketComesByteByByte) {
  const std::string bytes = bytes_of(example());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(next(), LinkReader::Got::kNothing);
    write(std::string_view(bytes).substr(i, 1));
  }
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.body, "body");
  EXPECT_EQ(next(), LinkReader::Got::kNothing);
}

TEST_F(LinkTest, PacketsComeTogether) {
  const std::string first = bytes_of(example("first")), last = bytes_of(example("last"));
  write(first + bytes_of(example("")) + last.substr(0, last.size() - 1));
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.body, "first");
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.body, "");
  EXPECT_EQ(next(), LinkReader::Got::kNothing);
  write(last.substr(last.size() - 1));
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.body, "last");
}

TEST_F(LinkTest, TheLongestBodyComes) {
  const std::string longest(kLongestLinkBody, 'x');
  write(bytes_of(example(longest)));
  ASSERT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(packet_.body, longest);
  LinkWriter writer(ends_.worker_send.get());
  EXPECT_FALSE(writer.send(example(longest + 'x')));
  EXPECT_EQ(send_to_worker(ends_.send.get(), example(longest + 'x')), EMSGSIZE);
  EXPECT_EQ(next(), LinkReader::Got::kNothing);
}

TEST_F(LinkTest, WhatIsNoHeaderIsRefused) {
  EXPECT_EQ(read_with(0, ""), LinkReader::Got::kPacket);
  EXPECT_EQ(read_with(0, "L"), LinkReader::Got::kPacket) << "the magic's first letter";
  EXPECT_EQ(read_with(0, "M"), LinkReader::Got::kMalformed);
  EXPECT_EQ(next(), LinkReader::Got::kMalformed) << "and it stays so";
  const auto over = static_cast<std::uint32_t>(kLongestLinkBody + 1);
  EXPECT_EQ(read_with(kLengthAt, as_bytes(over)), LinkReader::Got::kMalformed);
  EXPECT_EQ(read_with(kLengthAt, as_bytes(over - 1)), LinkReader::Got::kNothing);
  EXPECT_EQ(read_with(kLengthAt, as_bytes(~std::uint32_t{0})), LinkReader::Got::kMalformed);
  EXPECT_EQ(read_with(kIsReplyAt, as_bytes(std::uint16_t{2})), LinkReader::Got::kMalformed);
  EXPECT_EQ(read_with(kRequestAt, as_bytes(std::uint64_t{0})), LinkReader::Got::kMalformed)
      << "a reply to nothing";
}

TEST_F(LinkTest, ThePipeEnds) {
  const std::string bytes = bytes_of(example());
  write(bytes + bytes.substr(0, bytes.size() / 2));
  ends_.worker_send.reset();
  EXPECT_EQ(next(), LinkReader::Got::kPacket);
  EXPECT_EQ(next(), LinkReader::Got::kClosed);
  EXPECT_EQ(next(), LinkReader::Got::kClosed);
}

// ---- A full pipe

// zazend reads no more until its replies are taken, by the thread that has something to send.
TEST_F(LinkTest, AFullPipeDoesNotKeepAWorkerFromItsReplies) {
  constexpr std::uint64_t kOrders = 8;
  // Nothing of it is destroyed, as in a worker: its threads may wait.
  auto* link = new CacheLink(std::move(ends_.worker_receive), std::move(ends_.worker_send));
  [[maybe_unused]] static CacheLink* volatile kept = link;
  std::promise<void> taken;
  std::thread([link, &taken] {
    link->run([link, &taken](LinkPacket order) {
      link->reply<Problems>(order.tag(), {{std::string(kLongestLinkBody / 2, 'x')}, {}});
      if (order.request == kOrders) taken.set_value();
    });
  }).detach();
  std::atomic<std::uint64_t> told = 0;
  constexpr std::uint64_t kTold = 4 << 20;  // bytes: more than the pipe holds
  std::thread([link, &told] {
    const Notice notice{std::string(64 << 10, 'y')};
    for (; told < kTold; told += notice.bytes.size()) link->tell(notice);
  }).detach();
  // It stands still when the pipe is full.
  for (std::uint64_t before = ~std::uint64_t{0}; before != told;) {
    before = told;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ASSERT_LT(told, kTold);
  LinkPacket order;
  order.type = kLinkType<Problems>;
  for (order.request = 1; order.request <= kOrders; ++order.request) {
    ASSERT_EQ(send_to_worker(ends_.send.get(), order), 0);
  }
  ASSERT_EQ(taken.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  // All of it comes, and in whole packets.
  std::uint64_t notices = 0, replies = 0;
  while (notices < kTold / (64 << 10) || replies < kOrders) {
    const LinkReader::Got got = next();
    if (got == LinkReader::Got::kNothing) std::this_thread::yield();
    if (got == LinkReader::Got::kNothing) continue;
    ASSERT_EQ(got, LinkReader::Got::kPacket);
    ++(packet_.is_reply ? replies : notices);
    if (packet_.is_reply) {
      EXPECT_EQ(packet_.request, replies);
    }
  }
  EXPECT_EQ(notices, kTold / (64 << 10));
}

// ---- What goes which way

TEST_F(LinkTest, DescriptorsGoDownInTheirOrder) {
  for (std::size_t count : {std::size_t{1}, std::size_t{2}, kMostPassed}) {
    LinkPacket sent = example();
    for (std::size_t i = 0; i < count; ++i) {
      sent.files.emplace_back(::dup(i % 2 == 0 ? ends_.receive.get() : ends_.send.get()));
    }
    ASSERT_EQ(send_to_worker(ends_.send.get(), sent), 0);
    ASSERT_TRUE(receive_from_zazend(ends_.worker_receive.get(), &packet_));
    EXPECT_EQ(packet_.body, "body");
    ASSERT_EQ(packet_.files.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      struct stat passed = {}, own = {};
      ASSERT_EQ(::fstat(packet_.files[i].get(), &passed), 0);
      ASSERT_EQ(::fstat(sent.files[i].get(), &own), 0);
      EXPECT_EQ(passed.st_ino, own.st_ino);
    }
  }
  LinkPacket none = example();
  ASSERT_EQ(send_to_worker(ends_.send.get(), none), 0);
  ASSERT_TRUE(receive_from_zazend(ends_.worker_receive.get(), &packet_));
  EXPECT_TRUE(packet_.files.empty()) << "those of the packet before are closed";
}

TEST_F(LinkTest, MoreDescriptorsThanThatAreRefused) {
  LinkPacket sent = example();
  for (std::size_t i = 0; i <= kMostPassed; ++i) {
    sent.files.emplace_back(::dup(ends_.receive.get()));
  }
  EXPECT_EQ(send_to_worker(ends_.send.get(), sent), EMSGSIZE);
}

TEST_F(LinkTest, AWorkerSeesItsEnd) {
  ends_.send.reset();
  EXPECT_FALSE(receive_from_zazend(ends_.worker_receive.get(), &packet_));
}

int send_with_descriptor(int socket) {
  char byte = 'x';
  struct iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &socket, sizeof socket);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

TEST_F(LinkTest, NothingGoesUpTheSocket) {
  const int socket = ends_.worker_receive.get();
  EXPECT_EQ(::send(socket, "x", 1, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(send_with_descriptor(socket), EPIPE);
}

TEST_F(LinkTest, NoDescriptorGoesUpThePipe) {
  struct stat st = {};
  ASSERT_EQ(::fstat(ends_.worker_send.get(), &st), 0);
  EXPECT_TRUE(S_ISFIFO(st.st_mode));
  EXPECT_EQ(send_with_descriptor(ends_.worker_send.get()), ENOTSOCK);
}

// Small packets take more of the socket's room than their bytes.
TEST_F(LinkTest, AWorkerThatDoesNotReadBlocksNobody) {
  int sent = 0, code = 0;
  for (; code == 0 && sent < 1'000'000; ++sent)
    code = send_to_worker(ends_.send.get(), example());
  EXPECT_EQ(code, EAGAIN);
  EXPECT_GT(sent, 64);
  ASSERT_TRUE(receive_from_zazend(ends_.worker_receive.get(), &packet_));
  ends_.worker_receive.reset();
  EXPECT_EQ(send_to_worker(ends_.send.get(), example()), ECONNRESET) << "it had not read all";
  EXPECT_EQ(send_to_worker(ends_.send.get(), example()), EPIPE);
}

}  // namespace
}  // namespace zazen
