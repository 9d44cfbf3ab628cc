// MessageBundle: what one node tells another about several datasets, as one message. An
// operation among the nodes costs a round of them, so a job has as many with one dataset as
// with all of its configuration.
#pragma once
#include <span>
#include <vector>

#include "coord/ranks/communicator.h"

namespace zazen {

class MessageBundle {
 public:
  // A single message is sent as it lies in memory; several are copied.
  explicit MessageBundle(std::span<const MessagePair> messages);

  MessagePair message() const { return message_; }

 private:
  std::vector<std::uint64_t> sizes_;
  BulkBytes bytes_;
  MessagePair message_;
};

// The messages of a bundle of so many, where they lie. An empty one is of a node in trouble:
// all are empty. Throws std::runtime_error if it makes no sense.
std::vector<MessagePair> unbundle(const MessagePair& message, std::size_t count);

}  // namespace zazen
