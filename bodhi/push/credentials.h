// Credentials: how a writer proves to a daemon on another machine that it may push. By MUNGE
// where it runs, else by a key that both have in a file (mode 0600). Without either, only on
// loopback.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct Credentials {
  std::string key;                    // of the key file; "": none
  bool munge = false;                 // a MUNGE daemon answers on this machine
  std::vector<std::string> old_keys;  // replaced, but still valid (key_ring.h)
};

// The credentials from the configuration's key file ("": none) and from MUNGE, if it runs. An
// error if others may read the file.
Result<Credentials> load_credentials(const std::string& key_file);

}  // namespace zazen
