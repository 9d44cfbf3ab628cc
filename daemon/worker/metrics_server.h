// MetricsServer: answers GET /metrics on loopback with the node's figures as Prometheus text,
// in a worker of its own that has the rights of nobody.
//
// Any program of this machine may connect. http_server.h has the limits. zazend is asked at
// most once a second, however many connections come; the others get the text of before.
#pragma once
#include <chrono>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/http/http_server.h"
#include "daemon/worker/cache/cache_link.h"

namespace zazen {

class MetricsServer {
 public:
  explicit MetricsServer(CacheLink& link) : link_(link) {}

  // Serves for the rest of the process's life, on a thread of its own. Called once.
  void begin(UniqueFd listening);

 private:
  HttpResponse answer(const HttpRequest& request);
  Result<std::string> ask_for_text();

  CacheLink& link_;
  std::string text_;
  std::chrono::steady_clock::time_point asked_at_;
};

}  // namespace zazen
