#include "bodhi/http/http_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace zazen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kConnections = 64;
constexpr std::size_t kDiscardedBytes = 1 << 20;  // of a client that goes on sending
constexpr auto kWhole = 60s;
constexpr auto kShortagePause = 100ms;

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 500 ? "Refused" : "Server Error";
  }
}

HttpResponse refusal(int status) {
  HttpResponse response{status, "text/plain; charset=utf-8", reason_of(status), {}};
  response.body += "\n";
  if (status == 405) response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

std::string encode(const HttpResponse& response, bool head_only) {
  std::string text =
      "HTTP/1.1 " + std::to_string(response.status) + " " + reason_of(response.status) + "\r\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += name + ": " + value + "\r\n";
  };
  add("Content-Type", response.content_type);
  if (response.status != 304) add("Content-Length", std::to_string(response.body.size()));
  add("Connection", "close");
  add("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) add(name, value);
  text += "\r\n";
  if (!head_only && response.status != 304) text += response.body;
  return text;
}

// The next close drops what the client has not read, which the kernel would keep for minutes.
void reset(int fd) {
  const linger at_once = {1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool may_be_tried_again() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

HttpServer::HttpServer(UniqueFd listening, HttpHandler handler,
                       std::chrono::milliseconds stall_limit)
    : listening_(std::move(listening)),
      handler_(std::move(handler)),
      stall_limit_(stall_limit) {
  // A blocking accept would wait for a client that has left again.
  ::fcntl(listening_.get(), F_SETFL, ::fcntl(listening_.get(), F_GETFL) | O_NONBLOCK);
}

void HttpServer::run(int stop_fd) {
  for (;;) {
    Clock::time_point now = Clock::now();
    std::erase_if(connections_, [&](const Connection& one) {
      if (one.deadline() > now) return false;
      if (!one.closing) reset(one.fd.get());
      return true;
    });
    const bool accepting = now >= accepting_after_;
    std::vector<pollfd> polled = {{stop_fd, POLLIN, 0},
                                  {accepting ? listening_.get() : -1, POLLIN, 0}};
    std::optional<Clock::time_point> wake;
    if (!accepting) wake = accepting_after_;
    for (const Connection& one : connections_) {
      const bool sending = !one.answer.empty() && !one.closing;
      polled.push_back({one.fd.get(), static_cast<short>(sending ? POLLOUT : POLLIN), 0});
      wake = wake ? std::min(*wake, one.deadline()) : one.deadline();
    }
    const int timeout_ms =
        wake ? static_cast<int>(
                   std::chrono::ceil<std::chrono::milliseconds>(*wake - now).count())
             : -1;
    if (::poll(polled.data(), polled.size(), timeout_ms) < 0) continue;
    if (polled[0].revents != 0) break;
    std::size_t place = 2;
    std::erase_if(connections_,
                  [&](Connection& one) { return polled[place++].revents != 0 && !serve(one); });
    if (polled[1].revents != 0) accept_connections();
  }
  connections_.clear();
}

void HttpServer::accept_connections() {
  for (std::size_t accepted = 0; accepted < kConnections; ++accepted) {
    UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        accepting_after_ = Clock::now() + kShortagePause;  // the socket stays readable
      }
      return;
    }
    if (connections_.size() == kConnections) connections_.pop_front();
    const Clock::time_point now = Clock::now();
    connections_.push_back(
        {std::move(fd), now + kWhole, now + stall_limit_, {}, {}, 0, 0, false});
  }
}

bool HttpServer::serve(Connection& one) {
  if (one.closing) return drain(one);
  return one.answer.empty() ? receive(one) : send(one);
}

bool HttpServer::receive(Connection& one) {
  char bytes[kHttpHeadBytes];
  const ssize_t size = ::recv(one.fd.get(), bytes, kHttpHeadBytes - one.received.size(), 0);
  if (size <= 0) return size < 0 && may_be_tried_again();
  one.received.append(bytes, static_cast<std::size_t>(size));
  // Bytes that trickle in are no progress: the limit is for the whole request.
  if (http_head_size(one.received) == 0 && one.received.size() < kHttpHeadBytes) return true;
  one.answer = answer_to(one.received);
  one.received.clear();
  one.stalled = Clock::now() + stall_limit_;
  return send(one);
}

std::string HttpServer::answer_to(const std::string& received) const {
  const std::size_t size = http_head_size(received);
  if (size == 0) return encode(refusal(431), false);
  const auto parsed = parse_http_request(std::string_view(received).substr(0, size));
  if (const auto* refused = std::get_if<HttpRefusal>(&parsed)) {
    return encode(refusal(refused->status), received.starts_with("HEAD "));
  }
  const auto& request = std::get<HttpRequest>(parsed);
  return encode(handler_(request), request.head_only);
}

bool HttpServer::send(Connection& one) {
  while (one.sent < one.answer.size()) {
    const ssize_t size = ::send(one.fd.get(), one.answer.data() + one.sent,
                                one.answer.size() - one.sent, MSG_NOSIGNAL);
    if (size < 0) return may_be_tried_again();
    one.sent += static_cast<std::size_t>(size);
    one.stalled = Clock::now() + stall_limit_;
  }
  // A close with unread bytes would reset the connection and destroy the answer on its way.
  ::shutdown(one.fd.get(), SHUT_WR);
  one.closing = true;
  return true;
}

bool HttpServer::drain(Connection& one) {
  char bytes[4096];
  const ssize_t size = ::recv(one.fd.get(), bytes, sizeof bytes, 0);
  if (size <= 0) return size < 0 && may_be_tried_again();
  one.discarded += static_cast<std::size_t>(size);
  return one.discarded < kDiscardedBytes;
}

}  // namespace zazen
