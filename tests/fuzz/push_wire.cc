// The bytes that a writer or a daemon sends over TCP, as far as it can be read without keys.
// A well-formed message has lengths within bounds, and names that were taken apart and put
// together again are the same.
#include "bodhi/push/push_wire.h"

#include <algorithm>

#include "bodhi/config/push_address.h"
#include "bodhi/node/change_notice.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

template <class T>
bool read(const char* bytes, std::size_t size, T* out) {
  if (size < sizeof *out) return false;
  std::memcpy(out, bytes, sizeof *out);
  return true;
}

void take_apart(std::string_view body) {
  PushNames names;
  if (!decode(body, &names)) return;
  demand(names.dataset.starts_with('/'));
  demand(names.dataset.find('\0') == names.dataset.npos);
  demand(names.name.find('\0') == names.name.npos);
  demand(encode(names) == body);
}

void take_request_apart(std::string_view body) {
  PushRequest request;
  if (!decode(body, &request)) return;
  demand(request.packet.size() <= kMaxMessage);
  demand(request.credential.size() <= kLongestCredential);
  demand(encode(request) == body);
}

void take_notice_apart(std::string_view body) {
  ChangeNotice notice;
  if (!decode(body, &notice)) return;
  demand(notice.node.size() < kMaxNodeName && notice.dataset.size() < kMaxPath);
  demand(notice.kind == NoticeKind::kHello || notice.dataset.starts_with('/'));
  for (const FrameNews& news : notice.frames) demand(news.name.find('\0') == news.name.npos);
  demand(encode(notice) == body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const char* text = bytes.as<char>();
  PushHello hello;
  PushIntroduction introduction;
  PushHeader header;
  if (read(text, size, &hello) && is_valid(hello)) demand(hello.version == kPushVersion);
  if (read(text, size, &introduction) && is_valid(introduction)) {
    demand(introduction.credential_length <= kLongestCredential);
    demand(introduction.peer_length > 0 && introduction.peer_length <= kLongestPeer);
    demand((introduction.method & (introduction.method - 1)) == 0);
  }
  take_apart({text, size});
  take_notice_apart({text, size});
  take_request_apart({text, size});
  parse_push_address(std::string(text, size));
  if (!read(text, size, &header)) return 0;
  bool by_writer = is_valid(header, PushSide::kWriter);
  bool by_daemon = is_valid(header, PushSide::kDaemon);
  demand(!(by_writer && by_daemon));
  if (by_writer)
    demand(header.length <= std::max({kLongestPushBody, kLongestNotice, kLongestRequest}));
  if (by_daemon) demand(header.length <= kLongestNativesPart);
  std::string_view rest(text + sizeof header, size - sizeof header);
  if (by_writer && header.length <= rest.size()) {
    take_apart(rest.substr(0, header.length));
    take_notice_apart(rest.substr(0, header.length));
    take_request_apart(rest.substr(0, header.length));
  }
  return 0;
}
