// The messages between a writer and a daemon on another machine, over TCP. Pure: no input or
// output, no keys.
//
// The daemon sends a PushHello. The writer answers with a PushIntroduction, which names the
// node that it means, and with a MUNGE credential if it uses one. The daemon answers with a
// PushWelcome. Then both sides send messages: a PushHeader, a body of header.length bytes, and
// a MAC of the sender's counter, header and body (push_keys.h). So no message can be altered,
// removed, repeated or inserted. The content of a frame follows its kPush as plain bytes, and
// then kContentEnd with its checksums. Nothing is encrypted.
//
// The answer repeats the number of its request; answers may come in any order. A daemon that
// reports changed frames to another daemon acts as a writer and sends kNotice. A tool that asks
// a node acts as a writer, too: kRequest carries a message of a local client
// (bodhi/lean/requests/messages.h), and kReply its answer. No descriptors cross.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "bodhi/lean/requests/wire.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr std::uint32_t kPushMagic = 0x3150545a;  // "ZTP1"
inline constexpr std::uint16_t kPushVersion = 2;
inline constexpr std::size_t kLongestCredential = 4096;
inline constexpr std::size_t kLongestPeer = 512;
inline constexpr std::size_t kLongestPushBody = kMaxPath + kMaxTemplate + 64;
// The largest encoded set of natives of a dataset, and the largest part of it in one message.
// The part is small, because the receiver stores it before it can verify its MAC.
inline constexpr std::size_t kLongestNatives = 256 << 20, kLongestNativesPart = 64 << 10;
// The same limits hold for what the descriptor of a local answer contains.
inline constexpr std::size_t kLongestContent = kLongestNatives;
inline constexpr std::size_t kLongestRequest = 8 + kMaxMessage + kLongestCredential;

using Bytes32 = std::array<std::uint8_t, 32>;
using Bytes16 = std::array<std::uint8_t, 16>;

enum : std::uint16_t {  // how a writer proves its identity: bits of PushHello.methods
  kByLoopback = 1,      // no proof; it is on this machine
  kByKey = 2,
  kByMunge = 4,
  // Not a method: the daemon accepts kNotice. A daemon without this bit gets no notices.
  kTakesNotices = 8,
  kTakesRequests = 16,  // the same of kRequest
};

struct PushHello {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t methods;
  std::uint32_t uid;  // the daemon's user, who may decode a MUNGE credential
  std::uint32_t reserved;
  std::uint64_t largest_frame;
  Bytes32 nonce;
};
static_assert(sizeof(PushHello) == 56);

struct PushTarget {              // the node that a writer means
  Bytes16 address;               // IPv4 as ::ffff:a.b.c.d
  std::array<char, 36> machine;  // the boot id if the address is loopback; else zeros
  std::uint32_t port;
  bool operator==(const PushTarget&) const = default;
};

struct PushIntroduction {  // the credential follows, and the node's address as configured
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t method;  // one bit
  std::uint32_t credential_length;
  std::uint32_t peer_length;
  PushTarget target;
  Bytes32 nonce;
  Bytes32 proof;
};
static_assert(sizeof(PushIntroduction) == 136);

struct PushWelcome {
  std::uint32_t magic;
  std::int32_t status;  // 0, or why the writer is refused: nothing follows
  Bytes32 proof;        // if the status is 0
};
static_assert(sizeof(PushWelcome) == 40);

enum class PushType : std::uint16_t {
  kPush = 1,       // from the writer: PushNames; content_bytes of content follow, then
  kContentEnd,     // ContentEnd, with the same request's number
  kNatives,        // from the writer: PushNames without a name
  kAnswer,         // from the daemon: status
  kNativesAnswer,  // from the daemon: status, the end of an encoded FrameSet
  kWorking,        // from the daemon: it is at work; not an answer
  kNotice,         // from another daemon: a ChangeNotice (change_notice.h); kAnswer follows
  kNativesPart,    // from the daemon: an earlier part of that set; more follows
  kRequest,        // from the writer: PushRequest; kReply follows
  kReplyPart,      // from the daemon: a part of the content of the answer, in order
  kReply,          // from the daemon: status, the body of the local answer; ends the content
};

struct PushHeader {
  PushType type;
  std::uint16_t reserved;
  std::uint32_t length;  // of the body
  std::uint64_t request;
  std::uint64_t content_bytes;  // kPush
  std::int32_t status;          // answers: 0 or an errno
  std::uint32_t reserved_too;
};
static_assert(sizeof(PushHeader) == 32);

struct ContentEnd {
  std::uint64_t checksum;  // XXH3_64bits of the content
  Bytes16 tag;             // its MAC; zeros between programs of one machine that have no key
};
static_assert(sizeof(ContentEnd) == 24);

bool is_valid(const PushHello& hello);
bool is_valid(const PushIntroduction& introduction);
bool is_valid(const PushWelcome& welcome);

enum class PushSide { kWriter, kDaemon };
// The header is one that this side may send, with a length that its type allows.
bool is_valid(const PushHeader& header, PushSide sender);

struct PushNames {  // the body of kPush and kNatives
  std::string dataset;
  std::string name;
};
std::string encode(const PushNames& names);
// False if they do not fill the body exactly, contain a NUL, or the dataset is not an absolute
// path.
bool decode(std::string_view body, PushNames* out);

struct PushRequest {       // the body of kRequest
  std::string packet;      // a whole message of a local client
  std::string credential;  // MUNGE's for this packet, where the session does not prove the user
};
std::string encode(const PushRequest& request);
// False if they do not fill the body exactly, or are too long. The packet is not looked at.
bool decode(std::string_view body, PushRequest* out);

template <class T>
std::string_view as_text(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace zazen
