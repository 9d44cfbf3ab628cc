// Whose the other end of a connection within this machine is: the kernel's word
// (/proc/net/tcp).
#pragma once
#include <sys/types.h>

#include <optional>

namespace zazen {

// Nothing if the kernel does not know of such a socket, or nobody has it open any more.
std::optional<uid_t> owner_of_peer(int socket);

}  // namespace zazen
