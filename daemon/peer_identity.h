// Who is at the other end of a local connection: the kernel's word (SO_PEERCRED), never the
// client's. This version serves the daemon's own user only (D15).
#pragma once

namespace zazen {

bool peer_is_own_user(int socket);

}  // namespace zazen
