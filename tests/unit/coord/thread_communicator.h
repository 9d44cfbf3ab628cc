// A Communicator whose ranks are the threads of one process, for the tests. Every operation
// is two passes of a barrier around a shared board; calls are counted.
#pragma once
#include <atomic>
#include <barrier>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "coord/ranks/communicator.h"

namespace zazen {

struct CallCounts {
  std::atomic<int> ors{0}, combines{0}, sums{0}, mins{0}, gathers{0}, broadcasts{0},
      scatters{0}, exchanges{0};
};

class ThreadCommunicator final : public Communicator {
 public:
  struct Board {
    explicit Board(int ranks)
        : size(ranks),
          barrier(ranks),
          words(static_cast<std::size_t>(ranks)),
          texts(static_cast<std::size_t>(ranks)),
          messages(static_cast<std::size_t>(ranks)),
          colours(static_cast<std::size_t>(ranks)) {}
    const int size;
    std::barrier<> barrier;
    std::vector<std::span<std::uint64_t>> words;
    std::vector<std::string> texts;
    std::vector<std::string> parts;
    std::vector<std::span<const MessagePair>> messages;
    std::vector<int> colours;
    std::map<int, std::shared_ptr<Board>> children;
    CallCounts calls;  // by rank 0 of this board
  };

  ThreadCommunicator(std::shared_ptr<Board> board, int rank)
      : board_(std::move(board)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return board_->size; }
  bool failed() const override { return false; }
  void all_or(std::span<std::uint64_t> words) override;
  void all_combine_aliens(std::span<std::uint64_t> words) override;
  void all_sum(std::span<std::uint64_t> values) override;
  void all_min(std::span<std::uint64_t> values) override;
  std::vector<std::string> all_gather(const std::string& mine) override;
  void broadcast(std::string& bytes, int root) override;
  std::string scatter(const std::vector<std::string>& parts, int root) override;
  Delivery all_to_all(std::span<const MessagePair> to) override;
  std::unique_ptr<Communicator> split(int colour) override;

 private:
  using Combine = std::function<void(std::span<std::uint64_t>, std::span<const std::uint64_t>)>;
  void reduce(std::span<std::uint64_t> mine, const Combine& combine);
  void count(std::atomic<int> CallCounts::*calls) {
    if (rank_ == 0) ++(board_->calls.*calls);
  }

  std::shared_ptr<Board> board_;
  int rank_;
};

// Runs `body` on as many threads as there are ranks and waits for all. The board of the
// world is returned for its counts.
std::shared_ptr<ThreadCommunicator::Board> run_ranks(
    int ranks, const std::function<void(Communicator&)>& body);

}  // namespace zazen
