// KeyRing: the credentials of a program or a daemon, while key files are replaced. A writer
// proves to a daemon on another machine that it may push: by MUNGE where it runs, else by a key
// that both have in a file (mode 0600). Without either, only on loopback.
//
// A new key is used as soon as its file is read. The old key stays valid for a grace period, so
// that an operator can replace the file on one machine after another. A listener accepts both
// keys. A program that connects tries the new key first. If the node refuses it, the program
// tries the old key: the node may not have the new one. Thread safe.
#pragma once
#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct Credentials {
  std::string key;                    // of the key file; "": none
  bool munge = false;                 // a MUNGE daemon answers on this machine
  std::vector<std::string> old_keys;  // replaced, but still valid
};

// The credentials from the configuration's key file ("": none) and from MUNGE, if it runs. An
// error if others may read the file.
Result<Credentials> load_credentials(const std::string& key_file);

class KeyRing {
 public:
  KeyRing() = default;  // neither a key nor MUNGE
  // An unusable file makes credentials() an error until the file is usable.
  explicit KeyRing(const std::string& key_file) : current_(load_credentials(key_file)) {}

  // Takes over credentials that another process has read.
  void renew(Result<Credentials> credentials);
  // Reads the key again. True: it has changed, and the previous one stays valid for `grace`.
  // After an error nothing changes. Old keys are never valid for longer than `grace` from now
  // on.
  Result<bool> read(const std::string& key_file, std::chrono::milliseconds grace);

  Result<Credentials> credentials() const;    // with the old keys that are still valid
  std::vector<std::string> accepted() const;  // the key and the valid old keys
  // Whether a session that this key started may go on; "": it used no key.
  bool accepts(const std::string& key) const;
  bool drop_ended();  // true: old keys have expired since the last call
  // When the last old key expires, in seconds since 1970; none: there is no old key.
  std::optional<std::time_t> old_key_until() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct OldKey {
    std::string key;
    Clock::time_point until;
  };

  mutable std::mutex mutex_;
  Result<Credentials> current_ = Credentials{};
  std::vector<OldKey> old_;
};

}  // namespace zazen
