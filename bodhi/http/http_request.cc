#include "bodhi/http/http_request.h"

#include <algorithm>
#include <optional>

#include "bodhi/http/loopback_address.h"

namespace zazen {
namespace {

constexpr std::string_view kEndOfLine = "\r\n";

bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}
// Of a method or a header's name (RFC 9110, "token").
bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}
bool is_value_char(char c) {
  return c == '\t' || static_cast<unsigned char>(c) >= 0x20;
}

bool same_name(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
    return lower(a) == lower(b);
  });
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes the next line off the text.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find(kEndOfLine));
  text.remove_prefix(std::min(text.size(), line.size() + kEndOfLine.size()));
  return line;
}

// "GET /metrics?x=1 HTTP/1.1"; 0 or the status of the refusal.
int read_request_line(std::string_view line, HttpRequest& request) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return 400;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || !std::ranges::all_of(target, is_visible)) return 400;
  if (!version.starts_with("HTTP/")) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  if (method != "GET" && method != "HEAD") return 405;
  if (!target.starts_with('/')) return 400;
  request.head_only = method == "HEAD";
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != target.npos) request.query = target.substr(question + 1);
  return 0;
}

}  // namespace

std::size_t http_head_size(std::string_view received) {
  const std::size_t end = received.find("\r\n\r\n");
  return end == received.npos ? 0 : end + 4;
}

std::variant<HttpRequest, HttpRefusal> parse_http_request(std::string_view head) {
  HttpRequest request;
  const std::string_view first = take_line(head);
  if (int status = read_request_line(first, request); status != 0) return HttpRefusal{status};

  std::optional<std::string_view> host;
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !is_token(line.substr(0, colon))) return HttpRefusal{400};
    const std::string_view name = line.substr(0, colon), value = trim(line.substr(colon + 1));
    if (!std::ranges::all_of(value, is_value_char)) return HttpRefusal{400};
    if (same_name(name, "Host")) {
      if (host) return HttpRefusal{400};
      host = value;
    } else if (same_name(name, "If-None-Match")) {
      request.if_none_match = value;
    } else if (same_name(name, "Transfer-Encoding") ||
               (same_name(name, "Content-Length") && value != "0")) {
      return HttpRefusal{400};
    }
  }
  if (!host) return HttpRefusal{400};
  if (!is_loopback_host(*host)) return HttpRefusal{403};
  request.host = *host;
  return request;
}

bool is_loopback_host(std::string_view host) {
  // The port is not compared: `ssh -L` leads from another one to ours.
  const bool has_port = host.ends_with(']') ? false : host.find(':') != host.npos;
  return parse_loopback_address(has_port ? std::string(host) : std::string(host) + ":80")
      .has_value();
}

}  // namespace zazen
