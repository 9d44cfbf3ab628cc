#include "bodhi/node/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

constexpr int kLongMs = 10'000;

struct Request {
  MessageHeader header;
  std::string packet;
  UniqueFd fd;
};

UniqueFd file_with(const std::string& bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

std::string content_of(const UniqueFd& fd) {
  char bytes[4096];
  ssize_t size = ::pread(fd.get(), bytes, sizeof bytes, 0);
  return std::string(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
}

// The other end of a real socket: a thread that serves one client as the test says.
class Server {
 public:
  using Script = std::function<void(Server&)>;

  Server(const std::string& runtime, Script script) {
    UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    struct sockaddr_un address;
    std::size_t size = socket_address(directory.get(), &address);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(size)),
              0);
    EXPECT_EQ(::listen(listener_.get(), 5), 0);
    thread_ = std::thread([this, script] {
      client_.reset(::accept(listener_.get(), nullptr, nullptr));
      script(*this);
      client_.reset();
    });
  }
  ~Server() { thread_.join(); }

  Request take() {
    char buffer[kMaxMessage];
    int fd;
    int size = receive_message(client_.get(), buffer, sizeof buffer, &fd, kLongMs);
    Request request;
    EXPECT_GT(size, 0);
    if (size <= 0) return request;
    EXPECT_TRUE(message_is_valid(buffer, static_cast<std::size_t>(size)));
    request.packet.assign(buffer, static_cast<std::size_t>(size));
    request.fd.reset(fd);
    std::memcpy(&request.header, buffer, sizeof request.header);
    return request;
  }
  void answer(std::uint64_t request, int status, const std::string& body = "", int fd = -1) {
    MessageHeader header = {};
    header.magic = kWireMagic;
    header.version = kWireVersion;
    header.type = MessageType::kReply;
    header.length = static_cast<std::uint32_t>(body.size());
    header.request = request;
    header.status = status;
    send(std::string(reinterpret_cast<const char*>(&header), sizeof header) + body, fd);
  }
  void send(const std::string& packet, int fd = -1) {
    EXPECT_EQ(send_message(client_.get(), packet.data(), packet.size(), fd, kLongMs), 0);
  }
  void wait_for_the_end() {
    char byte;
    int fd;
    receive_message(client_.get(), &byte, 1, &fd, kLongMs);
  }

 private:
  UniqueFd listener_, client_;
  std::thread thread_;
};

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

class ClientTest : public testing::Test {
 protected:
  Client connect(int timeout_ms = kLongMs) {
    auto client = Client::connect(scratch_.path(), timeout_ms);
    EXPECT_TRUE(client.ok());
    return std::move(client.value());
  }
  Scratch scratch_;
};

TEST_F(ClientTest, NoDaemon) {
  auto client = Client::connect(scratch_.path(), kLongMs);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, ECONNREFUSED);
  EXPECT_NE(client.error().context.find(scratch_.path()), std::string::npos);
  EXPECT_FALSE(client.error().hint.empty());
  EXPECT_EQ(Client::connect(scratch_ / "none").error().code, ECONNREFUSED);
}

TEST_F(ClientTest, StatusTravelsInAFile) {
  std::string text(100'000, 'j');
  Server server(scratch_.path(), [&](Server& s) {
    Request request = s.take();
    EXPECT_EQ(request.header.type, MessageType::kStatus);
    s.answer(request.header.request, 0, "", file_with(text).get());
  });
  EXPECT_EQ(connect().status().value(), text);
}

TEST_F(ClientTest, ListAndEvict) {
  ListRecord records[] = {{1, 100, 0, FrameKind::kNative, 0},
                          {2, 200, 0, FrameKind::kAlien, 0}};
  Server server(scratch_.path(), [&](Server& s) {
    Request list = s.take();
    EXPECT_EQ(list.header.type, MessageType::kList);
    EXPECT_EQ(message_names(list.packet.data()).dataset_length, 5u);
    std::string bytes(reinterpret_cast<const char*>(records), sizeof records);
    s.answer(list.header.request, 0, bytes_of(ListReply{2}), file_with(bytes).get());
    Request lie = s.take();
    s.answer(lie.header.request, 0, bytes_of(ListReply{3}), file_with(bytes).get());
    Request empty = s.take();
    s.answer(empty.header.request, 0, bytes_of(ListReply{0}), file_with("").get());
    Request evict = s.take();
    EXPECT_EQ(evict.header.type, MessageType::kEvict);
    EvictBody body;
    std::memcpy(&body, evict.packet.data() + sizeof(MessageHeader), sizeof body);
    EXPECT_EQ(body.first, 5u);
    EXPECT_EQ(body.last, 9u);
    EXPECT_EQ(body.what, kEvictAliens | kEvictDryRun);
    s.answer(evict.header.request, 0, bytes_of(EvictReply{5, 500, 0}));
  });
  Client client = connect();
  auto listed = client.list("/sim1");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(std::memcmp(listed->data(), records, sizeof records), 0);
  EXPECT_EQ(client.list("").error().code, EPROTO);
  EXPECT_TRUE(client.list("").value().empty());
  auto evicted = client.evict("/sim1", 5, 9, kEvictAliens | kEvictDryRun);
  ASSERT_TRUE(evicted.ok());
  EXPECT_EQ(evicted->frames, 5u);
  EXPECT_EQ(evicted->bytes, 500u);
}

TEST_F(ClientTest, SampleAndListing) {
  Server server(scratch_.path(), [&](Server& s) {
    Request sample = s.take();
    EXPECT_EQ(sample.header.type, MessageType::kSample);
    s.answer(sample.header.request, 0);
    Request keep = s.take();
    EXPECT_EQ(keep.header.type, MessageType::kKeepListing);
    EXPECT_EQ(content_of(keep.fd), "a listing");
    s.answer(keep.header.request, 0);
    Request refused = s.take();
    s.answer(refused.header.request, EACCES);
  });
  Client client = connect();
  EXPECT_TRUE(client.sample("/sim1").ok());
  EXPECT_TRUE(client.keep_listing("/sim1", "a listing").ok());
  EXPECT_EQ(client.sample("/sim1").error().code, EACCES);
}

TEST_F(ClientTest, PushesArePipelined) {
  Server server(scratch_.path(), [&](Server& s) {
    Request first = s.take();
    Request second = s.take();
    EXPECT_EQ(first.header.type, MessageType::kPush);
    EXPECT_EQ(content_of(second.fd), "frame");
    s.answer(second.header.request, 0);
    s.answer(first.header.request, ENOSPC);
  });
  Client client = connect();
  UniqueFd frame = file_with("frame");
  std::uint64_t first = client.start_push("/sim1", "f1", frame.get()).value();
  std::uint64_t second = client.start_push("/sim1", "f2", frame.get()).value();
  EXPECT_NE(first, second);
  auto answer = client.next_push_answer();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->request, second);
  EXPECT_EQ(answer->status, 0);
  answer = client.next_push_answer();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->request, first);
  EXPECT_EQ(answer->status, ENOSPC);
}

TEST_F(ClientTest, BadNamesAreNotSent) {
  Server server(scratch_.path(), [](Server& s) { s.wait_for_the_end(); });
  Client client = connect();
  EXPECT_EQ(client.sample("").error().code, EINVAL);
  EXPECT_EQ(client.sample("relative").error().code, EINVAL);
  EXPECT_EQ(client.start_push("/sim1", "", 0).error().code, EINVAL);
  EXPECT_EQ(client.start_push("/sim1", std::string(10'000, 'x'), 0).error().code, EINVAL);
  EXPECT_EQ(client.evict("", 0, 1, kEvictAliens).error().code, EINVAL);
}

TEST_F(ClientTest, ASilentDaemonTimesOut) {
  Server server(scratch_.path(), [](Server& s) {
    s.take();
    s.wait_for_the_end();
  });
  EXPECT_EQ(connect(20).status().error().code, ETIMEDOUT);
}

TEST_F(ClientTest, ADaemonThatGoesAway) {
  Server server(scratch_.path(), [](Server& s) { s.take(); });
  Client client = connect();
  EXPECT_EQ(client.status().error().code, ECONNREFUSED);
  EXPECT_EQ(client.status().error().code, ECONNREFUSED);
}

TEST_F(ClientTest, LateAnswersArePassedOver) {
  Server server(scratch_.path(), [](Server& s) {
    Request request = s.take();
    s.answer(request.header.request + 100, EIO);
    s.answer(request.header.request, 0, "", file_with("{}").get());
  });
  EXPECT_EQ(connect().status().value(), "{}");
}

TEST_F(ClientTest, MalformedAnswers) {
  Server server(scratch_.path(), [](Server& s) {
    s.take();
    s.send("rubbish");
    Request request = s.take();
    s.send(request.packet);  // a request is no answer
    request = s.take();
    s.answer(request.header.request, 0);  // no file
    request = s.take();
    s.answer(request.header.request, 0, "short");
  });
  Client client = connect();
  EXPECT_EQ(client.status().error().code, EPROTO);
  auto sampled = client.sample("/sim1");
  ASSERT_FALSE(sampled.ok());
  EXPECT_EQ(sampled.error().code, EPROTO);
  EXPECT_EQ(client.status().error().code, EPROTO);
  EXPECT_EQ(client.evict("/sim1", 0, 1, kEvictAliens).error().code, EPROTO);
}

}  // namespace
}  // namespace zazen
