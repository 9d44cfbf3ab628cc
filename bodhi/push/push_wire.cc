#include "bodhi/push/push_wire.h"

#include <cstring>

namespace zazen {
namespace {

struct NameLengths {
  std::uint16_t dataset;
  std::uint16_t name;
};

struct RequestLengths {
  std::uint32_t packet;
  std::uint32_t credential;
};

bool has_nul(std::string_view text) {
  return text.find('\0') != text.npos;
}

bool is_one_bit(std::uint16_t method) {
  return method == kByLoopback || method == kByKey || method == kByMunge;
}

}  // namespace

bool is_valid(const PushHello& hello) {
  return hello.magic == kPushMagic && hello.version == kPushVersion && hello.reserved == 0;
}

bool is_valid(const PushIntroduction& introduction) {
  bool has_credential = introduction.method == kByMunge;
  return introduction.magic == kPushMagic && introduction.version == kPushVersion &&
         is_one_bit(introduction.method) &&
         has_credential == (introduction.credential_length > 0) &&
         introduction.credential_length <= kLongestCredential && introduction.peer_length > 0 &&
         introduction.peer_length <= kLongestPeer;
}

bool is_valid(const PushWelcome& welcome) {
  return welcome.magic == kPushMagic && welcome.status >= 0;
}

bool is_valid(const PushHeader& header, PushSide sender) {
  if (header.reserved != 0 || header.reserved_too != 0) return false;
  bool is_answer = header.type == PushType::kAnswer ||
                   header.type == PushType::kNativesAnswer || header.type == PushType::kReply;
  bool is_daemons = is_answer || header.type == PushType::kWorking ||
                    header.type == PushType::kNativesPart ||
                    header.type == PushType::kReplyPart;
  if (is_daemons != (sender == PushSide::kDaemon)) return false;
  if (header.status < 0 || (header.status != 0 && !is_answer)) return false;
  if (header.content_bytes != 0 && header.type != PushType::kPush) return false;
  switch (header.type) {
    case PushType::kPush:
    case PushType::kNatives:
      return header.length > sizeof(NameLengths) && header.length <= kLongestPushBody;
    case PushType::kNotice:
      return header.length > 0 && header.length <= kLongestNotice;
    case PushType::kContentEnd:
      return header.length == sizeof(ContentEnd);
    case PushType::kAnswer:
    case PushType::kWorking:
      return header.length == 0;
    case PushType::kNativesAnswer:
      return header.length <= kLongestNativesPart;
    case PushType::kNativesPart:
    case PushType::kReplyPart:
      return header.length > 0 && header.length <= kLongestNativesPart;
    case PushType::kRequest:
      return header.length > sizeof(RequestLengths) && header.length <= kLongestRequest;
    case PushType::kReply:
      return header.length <= kMaxMessage;
  }
  return false;
}

std::string encode(const PushNames& names) {
  NameLengths lengths = {static_cast<std::uint16_t>(names.dataset.size()),
                         static_cast<std::uint16_t>(names.name.size())};
  return std::string(as_text(lengths)) + names.dataset + names.name;
}

bool decode(std::string_view body, PushNames* out) {
  NameLengths lengths;
  if (body.size() < sizeof lengths) return false;
  std::memcpy(&lengths, body.data(), sizeof lengths);
  body.remove_prefix(sizeof lengths);
  if (body.size() != std::size_t{lengths.dataset} + lengths.name) return false;
  out->dataset = body.substr(0, lengths.dataset);
  out->name = body.substr(lengths.dataset);
  return out->dataset.starts_with('/') && !has_nul(body);
}

std::string encode(const PushRequest& request) {
  RequestLengths lengths = {static_cast<std::uint32_t>(request.packet.size()),
                            static_cast<std::uint32_t>(request.credential.size())};
  return std::string(as_text(lengths)) + request.packet + request.credential;
}

bool decode(std::string_view body, PushRequest* out) {
  RequestLengths lengths;
  if (body.size() < sizeof lengths) return false;
  std::memcpy(&lengths, body.data(), sizeof lengths);
  body.remove_prefix(sizeof lengths);
  if (lengths.packet > kMaxMessage || lengths.credential > kLongestCredential ||
      body.size() != std::size_t{lengths.packet} + lengths.credential) {
    return false;
  }
  out->packet = body.substr(0, lengths.packet);
  out->credential = body.substr(lengths.packet);
  return !has_nul(out->credential);
}

}  // namespace zazen
