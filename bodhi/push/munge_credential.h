// MUNGE: a credential with 32 secret bytes in it, which says whose it is. Only the daemon's
// user can decode it, and only once. Without libmunge at build time everything here is refused
// with ENOTSUP.
#pragma once
#include <sys/types.h>

#include <string>

#include "bodhi/common/result.h"
#include "bodhi/push/push_wire.h"

namespace zazen {

bool munge_answers();  // its daemon runs on this machine

Result<std::string> encode_munge_credential(const Bytes32& secret, uid_t reader);

struct MungeSecret {
  Bytes32 secret;
  uid_t uid;  // who encoded it
};
// EACCES, with what MUNGE says, if it is expired, replayed, forged or not for this user.
Result<MungeSecret> decode_munge_credential(const std::string& credential);

}  // namespace zazen
