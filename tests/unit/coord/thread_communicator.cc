#include "thread_communicator.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "coord/sets/bitmap.h"

namespace zazen {

void ThreadCommunicator::reduce(std::span<std::uint64_t> mine, const Combine& combine) {
  const auto me = static_cast<std::size_t>(rank_);
  board_->words[me] = mine;
  board_->barrier.arrive_and_wait();
  // MPI would hang or corrupt memory if the ranks' sizes differed.
  for (const auto& words : board_->words)
    if (words.size() != mine.size()) std::terminate();
  std::vector<std::uint64_t> result(board_->words[0].begin(), board_->words[0].end());
  for (std::size_t r = 1; r < board_->words.size(); ++r) combine(result, board_->words[r]);
  board_->barrier.arrive_and_wait();
  std::ranges::copy(result, mine.begin());
  board_->barrier.arrive_and_wait();
}

void ThreadCommunicator::all_or(std::span<std::uint64_t> words) {
  count(&CallCounts::ors);
  reduce(words, [](auto into, auto other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] |= other[i];
  });
}

void ThreadCommunicator::all_combine_aliens(std::span<std::uint64_t> words) {
  count(&CallCounts::combines);
  reduce(words, combine_claims);
}

void ThreadCommunicator::all_sum(std::span<std::uint64_t> values) {
  count(&CallCounts::sums);
  reduce(values, [](auto into, auto other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += other[i];
  });
}

void ThreadCommunicator::all_min(std::span<std::uint64_t> values) {
  count(&CallCounts::mins);
  reduce(values, [](auto into, auto other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::min(into[i], other[i]);
  });
}

std::vector<std::string> ThreadCommunicator::all_gather(const std::string& mine) {
  count(&CallCounts::gathers);
  board_->texts[static_cast<std::size_t>(rank_)] = mine;
  board_->barrier.arrive_and_wait();
  std::vector<std::string> all = board_->texts;
  board_->barrier.arrive_and_wait();
  return all;
}

void ThreadCommunicator::broadcast(std::string& bytes, int root) {
  count(&CallCounts::broadcasts);
  if (rank_ == root) board_->texts[0] = bytes;
  board_->barrier.arrive_and_wait();
  bytes = board_->texts[0];
  board_->barrier.arrive_and_wait();
}

std::string ThreadCommunicator::scatter(const std::vector<std::string>& parts, int root) {
  count(&CallCounts::scatters);
  if (rank_ == root) board_->parts = parts;
  board_->barrier.arrive_and_wait();
  std::string mine;
  if (board_->parts.size() == static_cast<std::size_t>(board_->size))
    mine = board_->parts[static_cast<std::size_t>(rank_)];
  board_->barrier.arrive_and_wait();
  return mine;
}

Delivery ThreadCommunicator::all_to_all(std::span<const MessagePair> to) {
  count(&CallCounts::exchanges);
  const auto me = static_cast<std::size_t>(rank_);
  board_->messages[me] = to;
  board_->barrier.arrive_and_wait();
  std::vector<MessagePair> messages(board_->messages.size());
  std::size_t total = 0;
  for (std::size_t r = 0; r < messages.size(); ++r)
    if (board_->messages[r].size() == messages.size()) {
      messages[r] = board_->messages[r][me];
      total += messages[r].first.size() + messages[r].second.size();
    }
  BulkBytes buffer(total);
  std::byte* end = buffer.data();
  for (std::size_t r = 0; r < messages.size(); ++r)
    for (auto piece : {&MessagePair::first, &MessagePair::second}) {
      if (r == me) continue;
      std::byte* begin = end;
      end = std::ranges::copy(messages[r].*piece, begin).out;
      messages[r].*piece = {begin, end};
    }
  board_->barrier.arrive_and_wait();
  return {std::move(buffer), std::move(messages)};
}

std::unique_ptr<Communicator> ThreadCommunicator::split(int colour) {
  board_->colours[static_cast<std::size_t>(rank_)] = colour;
  board_->barrier.arrive_and_wait();
  if (rank_ == 0) {
    board_->children.clear();
    for (int c : board_->colours)
      if (!board_->children.contains(c))
        board_->children[c] =
            std::make_shared<Board>(static_cast<int>(std::ranges::count(board_->colours, c)));
  }
  board_->barrier.arrive_and_wait();
  std::shared_ptr<Board> child = board_->children.at(colour);
  const int rank = static_cast<int>(
      std::count(board_->colours.begin(), board_->colours.begin() + rank_, colour));
  board_->barrier.arrive_and_wait();
  return std::make_unique<ThreadCommunicator>(std::move(child), rank);
}

std::shared_ptr<ThreadCommunicator::Board> run_ranks(
    int ranks, const std::function<void(Communicator&)>& body) {
  auto board = std::make_shared<ThreadCommunicator::Board>(ranks);
  std::vector<std::jthread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      ThreadCommunicator me(board, r);
      body(me);
    });
  threads.clear();
  return board;
}

}  // namespace zazen
