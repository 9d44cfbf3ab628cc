// Tells which user owns the other end of a connection within this machine, by the kernel's word
// (/proc/net/tcp).
#pragma once
#include <sys/types.h>

#include <optional>

namespace zazen {

// Nothing if the kernel knows no such socket, or if no process has it open.
std::optional<uid_t> owner_of_peer(int socket);

}  // namespace zazen
