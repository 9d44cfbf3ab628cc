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

// In front of the bytes.
std::string_view mark_of(MungeUse use) {
  return use == MungeUse::kRequest ? "zazen request\n" : "";
}

}  // namespace

bool munge_answers() {
  char* credential = nullptr;
  bool answers = ::munge_encode(&credential, nullptr, nullptr, 0) == EMUNGE_SUCCESS;
  std::free(credential);
  return answers;
}

Result<std::string> encode_munge_credential(const Bytes32& secret, uid_t reader, MungeUse use) {
  const std::string payload = std::string(mark_of(use)).append(as_text(secret));
  Context context(::munge_ctx_create());
  char* text = nullptr;
  if (!context ||
      ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, reader) != EMUNGE_SUCCESS ||
      ::munge_encode(&text, context.get(), payload.data(), static_cast<int>(payload.size())) !=
          EMUNGE_SUCCESS) {
    return Error{EACCES, "MUNGE makes no credential", "is munged running?"};
  }
  std::string credential(text);
  std::free(text);
  return credential;
}

Result<MungeSecret> decode_munge_credential(const std::string& credential, MungeUse use) {
  const std::string_view mark = mark_of(use);
  MungeSecret decoded = {};
  void* payload = nullptr;
  int size = 0;
  gid_t gid = 0;
  munge_err_t code =
      ::munge_decode(credential.c_str(), nullptr, &payload, &size, &decoded.uid, &gid);
  const std::string_view bytes(static_cast<const char*>(payload),
                               payload == nullptr ? 0 : static_cast<std::size_t>(size));
  bool good = code == EMUNGE_SUCCESS && bytes.starts_with(mark) &&
              bytes.size() == mark.size() + decoded.secret.size();
  if (good)
    std::memcpy(decoded.secret.data(), bytes.data() + mark.size(), decoded.secret.size());
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

Result<std::string> encode_munge_credential(const Bytes32&, uid_t, MungeUse) {
  return Error{ENOTSUP, "MUNGE", {}};
}

Result<MungeSecret> decode_munge_credential(const std::string&, MungeUse) {
  return Error{ENOTSUP, "MUNGE", {}};
}

}  // namespace zazen

#endif
