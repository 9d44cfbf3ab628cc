// The head of an HTTP request: what is taken holds no byte that could end a line, and the Host
// names this machine.
#include "bodhi/http/http_request.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const std::string_view received(bytes.as<char>(), size);
  const std::size_t head = http_head_size(received);
  demand(head <= size);
  if (head == 0) return 0;
  const auto parsed = parse_http_request(received.substr(0, head));
  if (const auto* refusal = std::get_if<HttpRefusal>(&parsed)) {
    demand(refusal->status >= 400 && refusal->status < 600);
    return 0;
  }
  const auto& request = std::get<HttpRequest>(parsed);
  demand(request.path.starts_with('/') && request.path.find('?') == std::string::npos);
  demand(is_loopback_host(request.host));
  for (const std::string* one :
       {&request.path, &request.query, &request.host, &request.if_none_match}) {
    demand(is_one_line(*one) && one->size() < head);
  }
  return 0;
}
