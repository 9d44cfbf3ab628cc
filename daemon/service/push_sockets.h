// The port on which writers of other machines push (`listen`). zazend opens it, and a worker
// accepts writers there (worker/push/push_listener.h). Where all users are served that worker
// has the rights of nobody.
#pragma once
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "bodhi/push/key_ring.h"

namespace zazen {

// Checks whether the daemon could listen there. The configuration has `listen`. The errors are
// whole sentences.
Status check_listen(const Config& config);

struct PushSockets {
  std::vector<UniqueFd> sockets;
  std::uint16_t methods = 0;  // by which writers may prove themselves
};
Result<PushSockets> open_push_sockets(const Config& config, const KeyRing& keys);

}  // namespace zazen
