// MUNGE: a credential with 32 bytes in it, and with the identity of its creator. Only the
// daemon's user can decode it, and only once. The bytes are the secret of a session, or the
// digest of a request: a credential for one is none for the other. If libmunge is missing at
// build time, all functions here fail with ENOTSUP.
#pragma once
#include <sys/types.h>

#include <string>

#include "bodhi/common/result.h"
#include "bodhi/push/push_wire.h"

namespace zazen {

bool munge_answers();  // its daemon runs on this machine

enum class MungeUse : std::uint8_t { kSession, kRequest };
Result<std::string> encode_munge_credential(const Bytes32& secret, uid_t reader,
                                            MungeUse use = MungeUse::kSession);

struct MungeSecret {
  Bytes32 secret;
  uid_t uid;  // the user that encoded it
};
// EACCES, with MUNGE's reason, if it is expired, replayed, forged or for another user.
Result<MungeSecret> decode_munge_credential(const std::string& credential,
                                            MungeUse use = MungeUse::kSession);

}  // namespace zazen
