// HttpRequest: the head of a GET or HEAD request, as hostile input.
//
// Only what the servers on loopback need: no body, no absolute URL, no folded header, lines
// that end in CRLF. The Host must name this machine. Otherwise a page of another site could
// give its own name the address 127.0.0.1 and then read the answers (DNS rebinding).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace zazen {

constexpr std::size_t kHttpHeadBytes = 8192;

struct HttpRequest {
  bool head_only = false;     // HEAD: the answer has no body
  std::string path;           // "/metrics": begins with '/', as sent
  std::string query;          // what follows the '?', as sent
  std::string host;           // "localhost:7118"
  std::string if_none_match;  // empty if not sent
};

// The HTTP status of the refusal, for instance 405.
struct HttpRefusal {
  int status = 400;
};

// The size of the head with its empty line; 0 if the end has not come.
std::size_t http_head_size(std::string_view received);
// `head` ends with its empty line.
std::variant<HttpRequest, HttpRefusal> parse_http_request(std::string_view head);

bool is_loopback_host(std::string_view host);

}  // namespace zazen
