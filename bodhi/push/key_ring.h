// KeyRing: what a program or a daemon proves itself with (credentials.h), while key files are
// replaced.
//
// Once a replaced file is read the new key is in force. The old one stays good for a grace
// period, so that an operator can replace the file on one machine after another. A listener
// takes both keys. A program that connects tries the new key first, and the old one if that is
// refused: the node may not have the new key yet. Thread safe.
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
  // A file that cannot be used is an error of credentials(), until one can be.
  explicit KeyRing(const std::string& key_file) : current_(load_credentials(key_file)) {}

  // What another process has read.
  void renew(Result<Credentials> credentials);
  // Reads the key again. True: it is another one, and the one before is good for `grace`. An
  // error leaves all as it was. Old keys are never good for longer than `grace` from now.
  Result<bool> read(const std::string& key_file, std::chrono::milliseconds grace);

  Result<Credentials> credentials() const;    // with the old keys that are still good
  std::vector<std::string> accepted() const;  // the key, and those
  // Whether a session by this key may go on; "": it was not by a key.
  bool accepts(const std::string& key) const;
  bool drop_ended();  // true: old keys have ended since the last call
  // When the last old key ends, in seconds since 1970; none: there is no old key.
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
