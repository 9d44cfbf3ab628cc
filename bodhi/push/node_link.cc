#include "bodhi/push/node_link.h"

#include "bodhi/push/local_link.h"
#include "bodhi/push/network_link.h"

namespace zazen {

Result<std::unique_ptr<NodeLink>> NodeLink::connect(const std::string& peer,
                                                    const Credentials& credentials,
                                                    int timeout_ms) {
  constexpr std::string_view kLocal = "unix:";
  if (peer.starts_with(kLocal)) {
    return connect_local_link(peer.substr(kLocal.size()), timeout_ms);
  }
  return connect_network_link(peer, credentials, timeout_ms);
}

}  // namespace zazen
