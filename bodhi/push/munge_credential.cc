#include "bodhi/push/munge_credential.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef ZAZEN_MUNGE
#include <munge.h>

namespace zazen {
namespace {

struct Destroy {
  void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, Destroy>;

}  // namespace

bool munge_answers() {
  char* credential = nullptr;
  bool answers = ::munge_encode(&credential, nullptr, nullptr, 0) == EMUNGE_SUCCESS;
  std::free(credential);
  return answers;
}

Result<std::string> encode_munge_credential(const Bytes32& secret, uid_t reader) {
  Context context(::munge_ctx_create());
  char* text = nullptr;
  if (!context ||
      ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, reader) != EMUNGE_SUCCESS ||
      ::munge_encode(&text, context.get(), secret.data(), static_cast<int>(secret.size())) !=
          EMUNGE_SUCCESS) {
    return Error{EACCES, "MUNGE makes no credential", "is munged running?"};
  }
  std::string credential(text);
  std::free(text);
  return credential;
}

Result<MungeSecret> decode_munge_credential(const std::string& credential) {
  MungeSecret decoded = {};
  void* payload = nullptr;
  int size = 0;
  gid_t gid = 0;
  munge_err_t code =
      ::munge_decode(credential.c_str(), nullptr, &payload, &size, &decoded.uid, &gid);
  bool good = code == EMUNGE_SUCCESS && size == static_cast<int>(decoded.secret.size());
  if (good) std::memcpy(decoded.secret.data(), payload, decoded.secret.size());
  std::free(payload);
  if (!good) return Error{EACCES, std::string("MUNGE: ") + ::munge_strerror(code), {}};
  return decoded;
}

}  // namespace zazen

#else

namespace zazen {

bool munge_answers() {
  return false;
}

Result<std::string> encode_munge_credential(const Bytes32&, uid_t) {
  return Error{ENOTSUP, "MUNGE", {}};
}

Result<MungeSecret> decode_munge_credential(const std::string&) {
  return Error{ENOTSUP, "MUNGE", {}};
}

}  // namespace zazen

#endif
