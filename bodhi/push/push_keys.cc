#include "bodhi/push/push_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

namespace zazen {
namespace {

Bytes32 hmac(const void* key, std::size_t key_size, std::string_view text) {
  Bytes32 out = {};
  unsigned size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key, static_cast<int>(key_size), bytes, text.size(), out.data(),
           &size) == nullptr ||
      size != out.size()) {
    std::abort();  // libcrypto has no SHA-256: no session would be safe
  }
  return out;
}

Bytes32 hmac(const Bytes32& key, std::string_view text) {
  return hmac(key.data(), key.size(), text);
}

std::string transcript(const PushHello& hello, const PushIntroduction& introduction,
                       std::string_view peer) {
  PushIntroduction unproved = introduction;
  unproved.proof = {};
  std::string text = "zazen push 2";
  return text.append(as_text(hello)).append(as_text(unproved)).append(peer);
}

}  // namespace

Bytes32 random_bytes() {
  Bytes32 bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return bytes;
}

bool same_bytes(const void* a, const void* b, std::size_t size) {
  return CRYPTO_memcmp(a, b, size) == 0;
}

PushKeys::PushKeys(std::string_view secret, const PushHello& hello,
                   const PushIntroduction& introduction, std::string_view peer)
    : session_(hmac(secret.data(), secret.size(), transcript(hello, introduction, peer))),
      writer_(hmac(session_, "writer")),
      daemon_(hmac(session_, "daemon")),
      content_(hmac(session_, "content")) {}

Bytes32 PushKeys::proof_of_writer() const {
  return hmac(writer_, "introduction");
}

Bytes32 digest_of_request(const Bytes32& binding, std::string_view packet) {
  return hmac(binding, packet);
}

Bytes32 PushKeys::binding() const {
  return hmac(session_, "requests");
}

Bytes32 PushKeys::proof_of_daemon() const {
  return hmac(daemon_, "welcome");
}

Bytes32 PushKeys::mac(PushSide sender, const PushHeader& header, std::string_view body) {
  std::uint64_t counter = sent_[sender == PushSide::kWriter ? 0 : 1]++;
  std::string text;
  text.reserve(sizeof counter + sizeof header + body.size());
  text.append(as_text(counter)).append(as_text(header)).append(body);
  return hmac(sender == PushSide::kWriter ? writer_ : daemon_, text);
}

struct ContentTag::Context {
  EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
  ~Context() { EVP_CIPHER_CTX_free(cipher); }
};

ContentTag::ContentTag(const PushKeys& keys, std::uint64_t number)
    : context_(std::make_unique<Context>()) {
  unsigned char iv[12] = {};  // the frame's number: never repeats with the same key
  std::memcpy(iv, &number, sizeof number);
  if (EVP_EncryptInit_ex(context_->cipher, EVP_aes_256_gcm(), nullptr, keys.content_.data(),
                         iv) != 1) {
    std::abort();
  }
}

ContentTag::~ContentTag() = default;

void ContentTag::add(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  while (size > 0) {
    int part = static_cast<int>(std::min<std::size_t>(size, INT_MAX / 2)), done = 0;
    if (EVP_EncryptUpdate(context_->cipher, nullptr, &done, at, part) != 1) std::abort();
    at += part;
    size -= static_cast<std::size_t>(part);
  }
}

Bytes16 ContentTag::finish() {
  Bytes16 tag = {};
  unsigned char none[16];
  int size = 0;
  if (EVP_EncryptFinal_ex(context_->cipher, none, &size) != 1 ||
      EVP_CIPHER_CTX_ctrl(context_->cipher, EVP_CTRL_GCM_GET_TAG, tag.size(), tag.data()) !=
          1) {
    std::abort();
  }
  return tag;
}

}  // namespace zazen
