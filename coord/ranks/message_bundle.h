// MessageBundle: one message from a node to another that combines those about several datasets.
// Each operation among the nodes costs a round, so a job needs as many rounds with one dataset
// as with all of its configuration.
#pragma once
#include <span>
#include <vector>

#include "coord/ranks/communicator.h"

namespace zazen {

class MessageBundle {
 public:
  // A single message is sent in place; several are copied.
  explicit MessageBundle(std::span<const MessagePair> messages);

  MessagePair message() const { return message_; }

 private:
  std::vector<std::uint64_t> sizes_;
  BulkBytes bytes_;
  MessagePair message_;
};

// The `count` messages of a bundle, in place. An empty bundle comes from a node in trouble: all
// messages are empty. Throws std::runtime_error if it is malformed.
std::vector<MessagePair> unbundle(const MessagePair& message, std::size_t count);

}  // namespace zazen
