#include "bodhi/http/http_request.h"

#include <gtest/gtest.h>

#include "bodhi/http/loopback_address.h"

namespace zazen {
namespace {

// 0: taken.
int status_of(const std::string& head) {
  const auto parsed = parse_http_request(head);
  const auto* refusal = std::get_if<HttpRefusal>(&parsed);
  return refusal ? refusal->status : 0;
}
int status_with(const std::string& headers) {
  return status_of("GET / HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
}

TEST(HttpRequest, SaysWhatIsAskedFor) {
  const auto parsed = parse_http_request(
      "HEAD /a/b?x=1&y=2 HTTP/1.1\r\nhost: 127.0.0.1:7118 \r\nIF-NONE-MATCH:\"7\"\r\n"
      "Cookie: a=b\r\n\r\n");
  const auto* request = std::get_if<HttpRequest>(&parsed);
  ASSERT_NE(request, nullptr);
  EXPECT_TRUE(request->head_only);
  EXPECT_EQ(request->path, "/a/b");
  EXPECT_EQ(request->query, "x=1&y=2");
  EXPECT_EQ(request->host, "127.0.0.1:7118");
  EXPECT_EQ(request->if_none_match, "\"7\"");
}

TEST(HttpRequest, HeadEndsWithItsEmptyLine) {
  EXPECT_EQ(http_head_size("GET / HTTP/1.1\r\nHost: a\r\n"), 0u);
  EXPECT_EQ(http_head_size("GET / HTTP/1.1\r\n\r\nmore"), 18u);
}

TEST(HttpRequest, OtherMethodsAndVersionsAreRefused) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "X"}) {
    EXPECT_EQ(status_of(std::string(method) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405)
        << method;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"), 0);
}

TEST(HttpRequest, MalformedOnesAreRefused) {
  for (const char* line :
       {"", "GET", "GET /", "GET  HTTP/1.1", "GET x HTTP/1.1", "GET http://localhost/ HTTP/1.1",
        "GET /a b HTTP/1.1", "G(T / HTTP/1.1", "GET /\x01 HTTP/1.1", "GET / FTP/1.1"}) {
    EXPECT_EQ(status_of(std::string(line) + "\r\nHost: localhost\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);  // no Host
  for (const char* header :
       {"Host: localhost\r\n", "No colon\r\n", " folded: 1\r\n", "a : 1\r\n", ": 1\r\n",
        "a: b\rc\r\n", "a: b\nc: d\r\n", "Transfer-Encoding: chunked\r\n",
        "Content-Length: 1\r\n", "Content-Length: 00\r\n"}) {
    EXPECT_EQ(status_with(header), 400) << header;
  }
  EXPECT_EQ(status_with(std::string("a: \0\r\n", 6)), 400);
  EXPECT_EQ(status_with("Content-Length: 0\r\nAccept:\r\nX: \xc3\xa9\r\n"), 0);
}

TEST(HttpRequest, HostIsThisMachine) {
  for (const char* host :
       {"localhost", "localhost:1", "127.0.0.1", "127.1.2.3:65535", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
        "0.0.0.0", "[::]", "[::2]:80", "::1", "localhost:", "localhost:x", "localhost:99999",
        "127.0.0.1:80:80", "x@localhost", "localhost/", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"), 403);
  }
}

TEST(LoopbackAddress, OthersAreRefused) {
  for (const char* address : {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "127.0.0.1", ":80",
                              "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536", "::1:80", "80",
                              "name:80", "127.1:80", ""}) {
    EXPECT_FALSE(parse_loopback_address(address).has_value()) << address;
    EXPECT_FALSE(listen_on_loopback(address).ok()) << address;
  }
}

}  // namespace
}  // namespace zazen
