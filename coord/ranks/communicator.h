// Communicator: the few collective operations that the protocol needs. The algorithms do not
// depend on MPI; tests run them on threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coord/sets/bulk_bytes.h"

namespace zazen {

// Two pieces of bytes to, or from, one rank, so that two sets travel without being joined.
struct MessagePair {
  std::span<const std::byte> first;
  std::span<const std::byte> second;
};

// The messages received, by rank, in one buffer. A rank's message to itself is the sent one, in
// place.
class Delivery {
 public:
  Delivery() = default;
  Delivery(BulkBytes buffer, std::vector<MessagePair> messages)
      : buffer_(std::move(buffer)), messages_(std::move(messages)) {}

  // By rank; none if the operation failed.
  std::span<const MessagePair> messages() const { return messages_; }

 private:
  BulkBytes buffer_;
  std::vector<MessagePair> messages_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // An operation failed here or on a communicator that was split from the same one. Results
  // since then are invalid, but every call still returns.
  virtual bool failed() const = 0;

  // In place, the same result on every rank.
  virtual void all_or(std::span<std::uint64_t> words) = 0;
  // Step 5 of the paper on 2-bit entries: 00 o xx = xx, 10 o xx = 10, 01 o 01 = 10.
  virtual void all_combine_aliens(std::span<std::uint64_t> words) = 0;
  virtual void all_sum(std::span<std::uint64_t> values) = 0;
  virtual void all_min(std::span<std::uint64_t> values) = 0;

  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  virtual void broadcast(std::string& bytes, int root) = 0;
  // parts[i] goes to rank i; only root's parts count.
  virtual std::string scatter(const std::vector<std::string>& parts, int root) = 0;
  // to[i] goes to rank i. A rank whose `to` has the wrong size sends empty messages.
  virtual Delivery all_to_all(std::span<const MessagePair> to) = 0;

  // Ranks with the same colour form a new communicator, ordered by their rank here.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;
};

}  // namespace zazen
