#include "coord/samples.h"

namespace zazen {

void Samples::begin(const std::string& runtime, const std::string& dataset, int timeout_ms) {
  if (!tried_) {
    tried_ = true;
    if (Result<Client> client = Client::connect(runtime, timeout_ms))
      client_ = std::move(*client);
  }
  if (client_ && client_->start_sample(dataset)) ++pending_;
}

void Samples::wait() noexcept {
  try {
    for (; pending_ > 0; --pending_)
      if (!client_->next_push_answer()) break;
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for an error's words
  }
  pending_ = 0;
}

}  // namespace zazen
