#include "bodhi/http/http_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "bodhi/http/loopback_address.h"

namespace zazen {
namespace {

using namespace std::chrono_literals;

class Served {
 public:
  explicit Served(HttpHandler handler, const std::string& address = "127.0.0.1:0",
                  std::chrono::milliseconds stall_limit = 60s)
      : stop_(::eventfd(0, EFD_CLOEXEC)) {
    Result<UniqueFd> listening = listen_on_loopback(address);
    EXPECT_TRUE(listening.ok()) << listening.error().message();
    address_ = listening_address(listening->get());
    server_.emplace(std::move(*listening), std::move(handler), stall_limit);
    thread_ = std::thread([this] { server_->run(stop_.get()); });
  }
  ~Served() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  const std::string& address() const { return address_; }
  UniqueFd connect() const {
    const LoopbackAddress to = *parse_loopback_address(address_);
    UniqueFd fd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* name = reinterpret_cast<const sockaddr*>(&to.storage);
    EXPECT_EQ(::connect(fd.get(), name, to.size), 0) << std::strerror(errno);
    return fd;
  }

 private:
  UniqueFd stop_;
  std::string address_;
  std::optional<HttpServer> server_;
  std::thread thread_;
};

HttpResponse echo(const HttpRequest& request) {
  HttpResponse response;
  response.body = request.path + "|" + request.query;
  response.headers.emplace_back("X-Host", request.host);
  return response;
}

void send_all(const UniqueFd& fd, const std::string& text) {
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}
std::string read_all(const UniqueFd& fd) {
  std::string all;
  char bytes[4096];
  for (ssize_t size; (size = ::recv(fd.get(), bytes, sizeof bytes, 0)) > 0;) {
    all.append(bytes, static_cast<std::size_t>(size));
  }
  return all;
}
std::string ask(const Served& served, const std::string& text) {
  UniqueFd fd = served.connect();
  send_all(fd, text);
  return read_all(fd);
}
std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}
const std::string kGet = "GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(HttpServer, AnswersGetAndHead) {
  for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
    Served served(echo, address);
    const std::string answer =
        ask(served, "GET /a?b=c HTTP/1.1\r\nHost: " + served.address() + "\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("Content-Length: 6\r\n"), answer.npos) << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), answer.npos) << answer;
    EXPECT_NE(answer.find("X-Host: " + served.address() + "\r\n"), answer.npos) << answer;
    EXPECT_EQ(body_of(answer), "/a|b=c");
    const std::string head = ask(served, "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_NE(head.find("Content-Length: 3\r\n"), head.npos) << head;
    EXPECT_EQ(body_of(head), "");
  }
}

TEST(HttpServer, RequestMayComeInPieces) {
  Served served(echo);
  UniqueFd fd = served.connect();
  for (char c : kGet) send_all(fd, std::string(1, c));
  EXPECT_EQ(body_of(read_all(fd)), "/a|b");
}

TEST(HttpServer, RefusesWhatItDoesNotServe) {
  int handled = 0;
  Served served([&](const HttpRequest&) {
    ++handled;
    return HttpResponse();
  });
  const auto status = [&](const std::string& text) { return ask(served, text).substr(9, 3); };
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
            "405");
  EXPECT_EQ(status("\x16\x03\x01\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "403");
  EXPECT_EQ(status("GET /" + std::string(kHttpHeadBytes, 'a')), "431");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\nA: " +
                   std::string(kHttpHeadBytes, 'a') + "\r\n\r\n"),
            "431");
  EXPECT_EQ(handled, 0);
}

// A reset would let some clients drop the answer of a refused request.
TEST(HttpServer, UnreadBodyResetsNoConnection) {
  Served served(echo);
  UniqueFd fd = served.connect();
  send_all(fd, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" +
                   std::string(200'000, 'x'));
  EXPECT_TRUE(read_all(fd).starts_with("HTTP/1.1 405"));
  char more;
  EXPECT_EQ(::recv(fd.get(), &more, 1, 0), 0) << std::strerror(errno);
  send_all(fd, "more");
  EXPECT_EQ(::recv(fd.get(), &more, 1, 0), 0) << std::strerror(errno);
}

TEST(HttpServer, ClientThatLeavesEndsNoServer) {
  const std::string large(50'000'000, 'z');
  Served served([&](const HttpRequest& request) {
    HttpResponse response = echo(request);
    if (request.path == "/large") response.body = large;
    return response;
  });
  UniqueFd fd = served.connect();
  send_all(fd, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ::shutdown(fd.get(), SHUT_WR);  // then the reset below is an EPIPE at the server
  pollfd readable = {fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, -1), 1);
  fd.reset();
  EXPECT_EQ(body_of(ask(served, kGet)), "/a|b");
}

TEST(HttpServer, LargeAnswersArriveWhole) {
  const std::string large(20'000'000, 'z');
  Served served([&](const HttpRequest&) {
    HttpResponse response;
    response.body = large;
    return response;
  });
  EXPECT_EQ(body_of(ask(served, kGet)), large);
}

TEST(HttpServer, SilentAndSlowClientsAreClosed) {
  const std::string large(50'000'000, 'z');
  Served served(
      [&](const HttpRequest&) {
        HttpResponse response;
        response.body = large;
        return response;
      },
      "127.0.0.1:0", 50ms);
  UniqueFd silent = served.connect();
  UniqueFd half = served.connect();
  send_all(half, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(read_all(silent), "");
  EXPECT_EQ(read_all(half), "");
  UniqueFd slow = served.connect();  // asks and does not read
  send_all(slow, kGet);
  pollfd closed = {slow.get(), POLLRDHUP, 0};
  EXPECT_EQ(::poll(&closed, 1, 60'000), 1);
  EXPECT_LT(read_all(slow).size(), large.size());
}

TEST(HttpServer, NewConnectionClosesTheOldestOfTooMany) {
  Served served(echo);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 64; ++i) idle.push_back(served.connect());
  EXPECT_EQ(body_of(ask(served, kGet)), "/a|b");
  EXPECT_EQ(read_all(idle.front()), "");  // closed: the limit of time is a minute
  send_all(idle.back(), kGet);
  EXPECT_EQ(body_of(read_all(idle.back())), "/a|b");
}

TEST(HttpServer, ServesAgainAfterAShortageOfDescriptors) {
  Served served(echo);
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  UniqueFd fd = served.connect();
  EXPECT_EQ(body_of(ask(served, kGet)), "/a|b");  // so the first one is accepted
  rlimit none = limit;
  none.rlim_cur = 3;
  UniqueFd waiting(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const LoopbackAddress to = *parse_loopback_address(served.address());
  EXPECT_EQ(::connect(waiting.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size),
            0);
  send_all(waiting, kGet);
  send_all(fd, kGet);  // a connection that is there is still served
  EXPECT_EQ(body_of(read_all(fd)), "/a|b");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(body_of(read_all(waiting)), "/a|b");
}

}  // namespace
}  // namespace zazen
