// Samples: the daemon of this node compares some of its copies with the origin (D10) while the
// ranks agree; they are waited for at the end, before anybody opens a frame.
#pragma once
#include <optional>
#include <string>

#include "bodhi/client.h"

namespace zazen {

class Samples {
 public:
  // Best effort. A daemon that does not answer costs `timeout_ms` once.
  void begin(const std::string& runtime, const std::string& dataset, int timeout_ms);
  void wait() noexcept;

 private:
  std::optional<Client> client_;
  bool tried_ = false;
  int pending_ = 0;
};

}  // namespace zazen
