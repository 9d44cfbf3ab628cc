// KeyRing: the credentials of a program or a daemon (credentials.h), while key files are
// replaced.
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
#include "bodhi/push/credentials.h"

namespace zazen {

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
