// The protocol at cluster size, within SimGrid's SMPI: all hosts are in this one process, with
// globals that they share, and MPI's time is the simulated one. tests/simulation/simulate
// builds and runs it; it prints one JSON object.
//
//   simulation exchange WORKLOAD FRAMES SPEED
//   simulation paper    WORKLOAD FRAMES SPEED PIECE
//
// SPEED is that of a host in the platform, in operations a second; PIECE is the most that our
// communicator reduces in one call, in bytes.
//
// `exchange` is the real algorithm on the real communicator, with real sets, so its messages
// have their true sizes. It runs twice. In the first run the hosts communicate through shared
// memory, and each notes the processor time between its calls to the communicator. The second
// run charges each of these steps to all hosts at the median of the hosts. So the noise of the
// machine does not count a hundred times.
//
// `paper` would need 750 MB for each host. Its reductions have their true sizes, over memory
// that all hosts share and whose contents mean nothing. Its computation is charged at rates
// that are measured before, on a smaller domain. It runs as in the paper, with one call for
// each reduction, and in pieces.
#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "coord/mpi/mpi_communicator.h"
#include "coord/protocol/exchange.h"
#include "coord/protocol/paper.h"
#include "coord/ranks/lone_communicator.h"
#include "tools/bench/protocol/workload.h"

namespace zazen {
namespace {

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double host_speed = 0;
double charged_seconds = 0;  // to all hosts together

void charge(double seconds) {
  charged_seconds += seconds;
  smpi_execute_flops(seconds * host_speed);
}

// The communication of the hosts while they are measured, through the memory that they share:
// the simulation of a network takes much longer than the measured steps.
class SharedMemoryCommunicator final : public LoneCommunicator {
 public:
  explicit SharedMemoryCommunicator(Communicator& world) : world_(world) {}

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  void all_sum(std::span<std::uint64_t> values) override { world_.all_sum(values); }
  Delivery all_to_all(std::span<const MessagePair> to) override {
    const auto me = static_cast<std::size_t>(rank());
    sent.resize(static_cast<std::size_t>(size()));
    sent[me].assign(to.begin(), to.end());
    MPI_Barrier(MPI_COMM_WORLD);
    std::size_t bytes = 0;
    for (const auto& from : sent) bytes += from[me].first.size() + from[me].second.size();
    BulkBytes buffer(bytes);
    std::byte* end = buffer.data();
    auto take = [&](std::span<const std::byte> part) {
      std::ranges::copy(part, end);
      end += part.size();
      return std::span<const std::byte>(end - part.size(), part.size());
    };
    std::vector<MessagePair> messages;
    for (const auto& from : sent)
      messages.push_back({take(from[me].first), take(from[me].second)});
    MPI_Barrier(MPI_COMM_WORLD);
    return {std::move(buffer), std::move(messages)};
  }

 private:
  static std::vector<std::vector<MessagePair>> sent;  // by rank
  Communicator& world_;
};

std::vector<std::vector<MessagePair>> SharedMemoryCommunicator::sent;

// A Communicator that takes the time between its calls: measured at first, charged later.
class ChargingCommunicator final : public Communicator {
 public:
  ChargingCommunicator(Communicator& real, bool charging) : real_(real), charging_(charging) {}

  // The times that the hosts measured, by step.
  static std::vector<std::vector<double>> measured;

  void begin() { resume(); }
  void end() { pause(); }

  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  bool failed() const override { return real_.failed(); }
  void all_or(std::span<std::uint64_t> words) override {
    const Pause pause(this);
    real_.all_or(words);
  }
  void all_combine_aliens(std::span<std::uint64_t> words) override {
    const Pause pause(this);
    real_.all_combine_aliens(words);
  }
  void all_sum(std::span<std::uint64_t> values) override {
    const Pause pause(this);
    real_.all_sum(values);
  }
  void all_min(std::span<std::uint64_t> values) override {
    const Pause pause(this);
    real_.all_min(values);
  }
  std::vector<std::string> all_gather(const std::string& mine) override {
    const Pause pause(this);
    return real_.all_gather(mine);
  }
  void broadcast(std::string& bytes, int root) override {
    const Pause pause(this);
    real_.broadcast(bytes, root);
  }
  std::string scatter(const std::vector<std::string>& parts, int root) override {
    const Pause pause(this);
    return real_.scatter(parts, root);
  }
  Delivery all_to_all(std::span<const MessagePair> to) override {
    const Pause pause(this);
    return real_.all_to_all(to);
  }
  std::unique_ptr<Communicator> split(int colour) override { return real_.split(colour); }

 private:
  struct Pause {
    explicit Pause(ChargingCommunicator* to) : self(to) { self->pause(); }
    ~Pause() { self->resume(); }
    ChargingCommunicator* self;
  };

  void resume() { since_ = cpu_seconds(); }
  void pause() {
    const double seconds = cpu_seconds() - since_;
    if (measured.size() <= step_) measured.resize(step_ + 1);
    if (charging_)
      charge(median(measured[step_]));
    else
      measured[step_].push_back(seconds);
    ++step_;
  }

  Communicator& real_;
  bool charging_;
  std::size_t step_ = 0;
  double since_ = 0;
};

std::vector<std::vector<double>> ChargingCommunicator::measured;

// From the first host that begins to the last that ends.
struct Span {
  double begin = 1e300, end = 0;
  void add(double from, double to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
  double seconds() const { return end - begin; }
};

// Each frame in one set and no other: a bitmap of all, to which the hosts add theirs.
struct Union {
  std::vector<ChunkWords> chunks;
  bool disjoint = true;
  std::size_t count = 0;

  void add(const PackedSet& set) {
    chunks.resize(set.chunks());
    for (std::size_t c = 0; c < set.chunks(); ++c) {
      auto each = [&](std::size_t w, std::uint64_t bits) {
        disjoint &= (chunks[c][w] & bits) == 0;
        chunks[c][w] |= bits;
      };
      disjoint &= decode_chunk(set.chunk(c), set.chunk_limit(c), ByWords{each});
    }
    count += set.count();
  }
  bool exactly(std::size_t frames) const { return disjoint && count == frames; }
};

// The hosts run one after the other within one process and share these.
Span exchange_span;
Union assigned;
std::uint64_t claim_bytes = 0, most_assigned = 0, residues = 0;

void simulate_exchange(Workload workload, std::size_t frames) {
  MpiCommunicator world(MPI_COMM_WORLD, false);
  SharedMemoryCommunicator shared(world);
  const auto me = static_cast<std::size_t>(world.rank());
  const auto nodes = static_cast<std::size_t>(world.size());
  std::vector<NodeHoldings> held(1);
  held[0] = holdings_of(workload, frames, me, nodes);
  claim_bytes += held[0].natives.bytes().size() + held[0].aliens.bytes().size();

  for (bool charging : {false, true}) {
    ExchangeProtocol protocol(charging ? std::move(held) : held,
                              std::vector<std::uint64_t>(nodes, 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    ChargingCommunicator communicator(charging ? static_cast<Communicator&>(world) : shared,
                                      charging);
    communicator.begin();
    protocol.run(communicator);
    communicator.end();
    if (!charging) continue;
    exchange_span.add(from, MPI_Wtime());
    assigned.add(protocol.own());
    most_assigned = std::max<std::uint64_t>(most_assigned, protocol.own().count());
    residues = protocol.residue_count();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me != 0) return;

  std::string steps;
  for (const std::vector<double>& step : ChargingCommunicator::measured)
    steps += (steps.empty() ? "" : ", ") + std::to_string(median(step));
  std::printf(
      "{\"exchange_seconds\": %.6f, \"exchange_compute_seconds\": %.6f, "
      "\"exchange_step_seconds\": [%s], \"claim_bytes_per_host\": %llu, "
      "\"exactly_once\": %s, \"residues\": %llu, \"most_frames_on_a_host\": %llu}\n",
      exchange_span.seconds(), charged_seconds / world.size(), steps.c_str(),
      static_cast<unsigned long long>(claim_bytes / nodes),
      assigned.exactly(frames) ? "true" : "false", static_cast<unsigned long long>(residues),
      static_cast<unsigned long long>(most_assigned));
}

// Processor time of each frame, and of each byte that a reduction combines.
struct Rates {
  double local_per_frame, or_per_byte, claims_per_byte;
};

template <class Work>
double median_of_five(Work&& work) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const double since = cpu_seconds();
    work();
    seconds.push_back(cpu_seconds() - since);
  }
  return median(seconds);
}

Rates measure_rates(bool second_round) {
  constexpr std::size_t kFrames = std::size_t{1} << 26;  // 8 MB: beyond the caches of a core
  std::vector<double> local;
  for (int i = 0; i < 5; ++i) {
    PaperProtocol protocol(kFrames);
    std::span<std::uint64_t> natives = protocol.natives().words();
    std::ranges::fill(second_round ? natives.first(natives.size() / 2) : natives,
                      ~std::uint64_t{0});
    std::ranges::fill(protocol.aliens().words().last(natives.size() / 2), ~std::uint64_t{0});
    LoneCommunicator alone;
    const double since = cpu_seconds();
    protocol.run(alone);
    local.push_back(cpu_seconds() - since);
  }
  std::vector<std::uint64_t> in(kFrames / 64, 5), out(kFrames / 64, 9);
  const double bytes = kFrames / 8.0;
  Rates rates{};
  rates.local_per_frame = median(local) / kFrames;
  rates.claims_per_byte = median_of_five([&] { combine_claims(out, in); }) / bytes;
  rates.or_per_byte = median_of_five([&] {
                        for (std::size_t w = 0; w < in.size(); ++w) out[w] |= in[w];
                        asm volatile("" : : "g"(out.data()) : "memory");
                      }) /
                      bytes;
  return rates;
}

Rates rates;
Span whole_span, pieces_span;

template <double Rates::*kRate>
void charge_reduction(void*, void*, int* words, MPI_Datatype*) {
  charge(rates.*kRate * *words * sizeof(std::uint64_t));
}

// Of all hosts, made by one of them: no host reads the contents, and shared pages are not
// copied.
struct SharedMemory {
  explicit SharedMemory(std::size_t words)
      : in(SMPI_SHARED_MALLOC(words * 8)), out(SMPI_SHARED_MALLOC(words * 8)) {}
  ~SharedMemory() {
    SMPI_SHARED_FREE(in);
    SMPI_SHARED_FREE(out);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void *in, *out;
};
std::optional<SharedMemory> memory;

template <double Rates::*kRate>
void reduce(std::size_t words, std::size_t piece_words) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(&charge_reduction<kRate>, 1, &op);
  for (std::size_t at = 0; at < words; at += piece_words)
    MPI_Allreduce(memory->in, memory->out, static_cast<int>(std::min(words - at, piece_words)),
                  MPI_UINT64_T, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
}

void simulate_paper(Workload workload, std::size_t frames, std::size_t piece_words) {
  MpiCommunicator world(MPI_COMM_WORLD, false);
  const bool second_round = has_second_round(workload);
  const std::size_t natives = (frames + 63) / 64, claims = (frames + 31) / 32;
  if (world.rank() == 0) {
    rates = measure_rates(second_round);
    memory.emplace(claims);
  }

  auto run = [&](std::size_t piece, Span* span) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    charge(rates.local_per_frame * static_cast<double>(frames));
    reduce<&Rates::or_per_byte>(natives, piece);
    std::uint64_t held[] = {0};
    world.all_sum(held);
    if (second_round) reduce<&Rates::claims_per_byte>(claims, piece);
    span->add(from, MPI_Wtime());
    MPI_Barrier(MPI_COMM_WORLD);
  };
  run(claims, &whole_span);
  const double charged = charged_seconds / world.size();
  run(piece_words, &pieces_span);
  if (world.rank() != 0) return;
  memory.reset();
  std::printf(
      "{\"paper_pieces_seconds\": %.6f, \"paper_seconds\": %.6f, "
      "\"paper_compute_seconds\": %.6f, \"paper_local_ns_per_frame\": %.4f, "
      "\"or_ns_per_byte\": %.4f, \"combine_ns_per_byte\": %.4f}\n",
      pieces_span.seconds(), whole_span.seconds(), charged, rates.local_per_frame * 1e9,
      rates.or_per_byte * 1e9, rates.claims_per_byte * 1e9);
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string algorithm = argv[1];
  const zazen::Workload workload = *zazen::workload_named(argv[2]);
  const auto frames = static_cast<std::size_t>(std::atof(argv[3]));
  zazen::host_speed = std::atof(argv[4]);
  if (algorithm == "exchange")
    zazen::simulate_exchange(workload, frames);
  else
    zazen::simulate_paper(workload, frames, static_cast<std::size_t>(std::atof(argv[5])) / 8);
  MPI_Finalize();
  return 0;
}
