// Credentials: how a writer proves to a daemon on another machine that it may push: MUNGE where
// it runs, else a key that both have in a file (mode 0600). Neither: loopback only.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct Credentials {
  std::string key;                    // of the key file; "": none
  bool munge = false;                 // a MUNGE daemon answers on this machine
  std::vector<std::string> old_keys;  // replaced, and still good (key_ring.h)
};

// Of a configuration's key file ("": none), and of MUNGE if it is there. A file that others may
// read is an error.
Result<Credentials> load_credentials(const std::string& key_file);

}  // namespace zazen
