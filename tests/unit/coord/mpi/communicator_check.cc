// Every operation of MpiCommunicator under a real mpirun, with messages that are short, as long
// as fits into one operation, one byte longer, and long. Says what came out wrong, and exits
// with 1.
#include <mpi.h>

#include <algorithm>
#include <cstdio>

#include "coord/mpi/mpi_communicator.h"

using namespace zazen;

namespace {

int wrong = 0;

void expect(bool right, const char* what, std::size_t size) {
  if (right) return;
  std::fprintf(stderr, "%s of %zu bytes\n", what, size);
  wrong = 1;
}

// The message of `from` to `to`: no other message has its content.
std::string message(std::size_t size, int from, int to) {
  std::string text(size + static_cast<std::size_t>(from), '\0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i * 7 + static_cast<std::size_t>(from * 31 + to * 17));
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void check_texts(Communicator& world, std::size_t size) {
  const int me = world.rank(), ranks = world.size();
  const std::vector<std::string> all = world.all_gather(message(size, me, 0));
  expect(all.size() == static_cast<std::size_t>(ranks), "all_gather", size);
  for (int r = 0; r < ranks; ++r)
    expect(all[static_cast<std::size_t>(r)] == message(size, r, 0), "all_gather", size);
  for (int root = 0; root < ranks; ++root) {
    std::string text = me == root ? message(size, root, 9) : "before";
    world.broadcast(text, root);
    expect(text == message(size, root, 9), "broadcast", size);

    std::vector<std::string> parts;
    for (int r = 0; me == root && r < ranks; ++r) parts.push_back(message(size, root, r));
    expect(world.scatter(parts, root) == message(size, root, me), "scatter", size);
    expect(world.scatter({}, root).empty(), "scatter of nothing", size);
  }
}

// Sizes differ by rank, so that some are short where others are long.
void check_exchange(Communicator& world, std::size_t size, bool rank_1_has_nothing) {
  const int me = world.rank(), ranks = world.size();
  auto sent = [&](int from, int to) {
    const bool none = rank_1_has_nothing && from == 1;
    return none ? std::string() : message(from == 0 ? size : 3, from, to);
  };
  std::vector<std::string> first, second;
  std::vector<MessagePair> to;
  for (int r = 0; r < ranks; ++r) {
    first.push_back(sent(me, r));
    second.push_back(sent(me, r + 50));
  }
  for (std::size_t r = 0; r < first.size(); ++r)
    to.push_back({bytes_of(first[r]), bytes_of(second[r])});
  if (rank_1_has_nothing && me == 1) to.clear();
  const Delivery delivery = world.all_to_all(to);
  expect(delivery.messages().size() == first.size(), "all_to_all", size);
  for (int r = 0; r < ranks; ++r) {
    const MessagePair& from = delivery.messages()[static_cast<std::size_t>(r)];
    expect(std::ranges::equal(from.first, bytes_of(sent(r, me))) &&
               std::ranges::equal(from.second, bytes_of(sent(r, me + 50))),
           "all_to_all", size);
  }
}

void check_numbers(Communicator& world, std::size_t words) {
  const auto ranks = static_cast<std::uint64_t>(world.size());
  std::vector<std::uint64_t> sum(words, 1), least(words, ~std::uint64_t{0}), bits(words);
  for (std::size_t i = 0; i < words; ++i) {
    if (i % ranks == static_cast<std::size_t>(world.rank())) least[i] = i;
    bits[i] = std::uint64_t{1} << world.rank();
  }
  world.all_sum(sum);
  world.all_min(least);
  world.all_or(bits);
  for (std::size_t i = 0; i < words; ++i)
    expect(sum[i] == ranks && least[i] == i && bits[i] == (std::uint64_t{1} << ranks) - 1,
           "a reduction", words * 8);
}

void check(Communicator& world) {
  for (std::size_t size : {0, 5, 1'006, 1'007, 1'008, 1'009, 5'000, 200'000, 3'000'000}) {
    check_texts(world, size);
    check_exchange(world, size, false);
    check_exchange(world, size, true);
  }
  for (std::size_t words : {1, 512, 513, 100'000}) check_numbers(world, words);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    MpiCommunicator world(MPI_COMM_WORLD, false);
    check(world);
    const std::unique_ptr<Communicator> part = world.split(world.rank() == 0 ? 0 : 1);
    if (part->size() > 1) check(*part);
    expect(!world.failed(), "a failure", 0);
  }
  MPI_Finalize();
  return wrong;
}
