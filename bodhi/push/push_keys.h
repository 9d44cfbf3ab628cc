// PushKeys: the keys of one session, and the MACs made with them (libcrypto's HMAC-SHA256 and
// AES-256-GMAC).
//
// The keys are derived from the shared secret and the transcript of the handshake. The secret
// is the shared key, or the content of a MUNGE credential; on one machine it may be empty. The
// transcript has fresh random numbers of both sides, so sessions never share keys and a
// recorded session cannot be replayed. It also names the node that the writer means, so a
// session cannot be relayed to another node. Each side has its own key, and a counter that is
// part of every MAC.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "bodhi/push/push_wire.h"

namespace zazen {

Bytes32 random_bytes();  // aborts if the kernel has none
bool same_bytes(const void* a, const void* b, std::size_t size);  // in constant time

// What a MUNGE credential for a request contains, so that it is good for this message in this
// session only. `binding` is the session's.
Bytes32 digest_of_request(const Bytes32& binding, std::string_view packet);

class PushKeys {
 public:
  PushKeys(std::string_view secret, const PushHello& hello,
           const PushIntroduction& introduction, std::string_view peer);

  Bytes32 proof_of_writer() const;
  Bytes32 proof_of_daemon() const;
  Bytes32 binding() const;  // tells nothing of the keys
  // The MAC of the next message that this side sends; to be called exactly once for each.
  Bytes32 mac(PushSide sender, const PushHeader& header, std::string_view body);

 private:
  friend class ContentTag;
  Bytes32 session_, writer_, daemon_, content_;
  std::uint64_t sent_[2] = {0, 0};  // by the writer, by the daemon
};

// The MAC of a frame's content, which is added in parts.
class ContentTag {
 public:
  // Of the writer's `number`th frame.
  ContentTag(const PushKeys& keys, std::uint64_t number);
  ~ContentTag();
  ContentTag(const ContentTag&) = delete;
  ContentTag& operator=(const ContentTag&) = delete;

  void add(const void* bytes, std::size_t size);
  Bytes16 finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace zazen
