// LoneCommunicator: a communicator of one rank, for a node with a single rank or a job on a
// single node. It costs nothing; splitting a communicator costs several rounds.
#pragma once
#include <algorithm>

#include "coord/ranks/communicator.h"

namespace zazen {

class LoneCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  bool failed() const override { return false; }

  void all_or(std::span<std::uint64_t>) override {}
  void all_combine_aliens(std::span<std::uint64_t>) override {}
  void all_sum(std::span<std::uint64_t>) override {}
  void all_min(std::span<std::uint64_t>) override {}
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
  void broadcast(std::string&, int) override {}
  std::string scatter(const std::vector<std::string>& parts, int) override {
    return parts.empty() ? std::string() : parts.front();
  }
  Delivery all_to_all(std::span<const MessagePair> to) override {
    return {BulkBytes(), {to.begin(), to.end()}};
  }
  std::unique_ptr<Communicator> split(int) override {
    return std::make_unique<LoneCommunicator>();
  }
};

}  // namespace zazen
