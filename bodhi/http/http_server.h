// HttpServer: a small HTTP/1.1 server for pages that people or Prometheus read on loopback.
//
// One thread, which also runs the handler, so the handler must not block. Any local user can
// connect: at most 64 connections (a new one closes the oldest), 8 KB of request, 5 s without
// progress, a minute for everything. Each connection carries one request. Not thread safe,
// except that another thread may make the stop descriptor readable.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/http/http_request.h"

namespace zazen {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // more of them, without line ends
};
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  // `listening` is a socket of listen_on_loopback(), or one that was received.
  HttpServer(UniqueFd listening, HttpHandler handler,
             std::chrono::milliseconds stall_limit = std::chrono::seconds(5));

  // Serves until `stop_fd` is readable.
  void run(int stop_fd);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    UniqueFd fd;
    Clock::time_point end, stalled;  // when it is closed: at all, and without progress
    std::string received, answer;    // the answer is empty until the request is there
    std::size_t sent = 0, discarded = 0;
    bool closing = false;  // the answer is sent; wait for the client's close

    Clock::time_point deadline() const { return std::min(end, stalled); }
  };

  void accept_connections();
  // False: the connection is done.
  bool serve(Connection& connection);
  bool receive(Connection& connection);
  bool send(Connection& connection);
  bool drain(Connection& connection);
  std::string answer_to(const std::string& received) const;

  UniqueFd listening_;
  HttpHandler handler_;
  std::chrono::milliseconds stall_limit_;
  std::list<Connection> connections_;  // the oldest first
  Clock::time_point accepting_after_;  // after a shortage of descriptors
};

}  // namespace zazen
