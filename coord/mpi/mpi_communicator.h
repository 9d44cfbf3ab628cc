// MpiCommunicator: the protocol's Communicator over MPI, by PMPI_ names only, on a communicator
// of our own whose errors are returned.
//
// Short messages go in one operation, through memory that was allocated beforehand. So a rank
// without free memory still takes part. Longer data follows in pieces of at most 64 MB: counts
// are ints, and a reduction needs as much memory again inside the library. Before that the
// ranks vote on whether all of them have the memory. If not, all of them fail together. A
// failure is noted for the whole family of split communicators.
//
// The wait for a small operation has pauses (backoff.h).
#pragma once
#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "coord/ranks/communicator.h"

namespace zazen {

// The memory for short messages among this number of ranks.
struct MessageMemory {
  explicit MessageMemory(int ranks);
  // Collective: no value, on all ranks, if one of them has no memory.
  static std::optional<MessageMemory> of_all(MPI_Comm comm);

  std::unique_ptr<std::byte[]> record;    // one short message
  std::unique_ptr<std::byte[]> table;     // one of each rank
  std::vector<std::uint64_t> sizes;       // sizes to each rank, and from each
  std::vector<MPI_Request> requests;      // as many as short messages need
  std::unique_ptr<std::byte[]> incoming;  // a small result of all_to_all()
  std::shared_ptr<bool> failed;
};

class MpiCommunicator final : public Communicator {
 public:
  // Takes the handle; frees it in the destructor if `owned`. The memory is allocated by the
  // caller, so the constructor cannot fail on one rank alone.
  MpiCommunicator(MPI_Comm comm, bool owned, MessageMemory memory);
  MpiCommunicator(MPI_Comm comm, bool owned);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool failed() const override { return *memory_.failed; }

  void all_or(std::span<std::uint64_t> words) override;
  void all_combine_aliens(std::span<std::uint64_t> words) override;
  void all_sum(std::span<std::uint64_t> values) override;
  void all_min(std::span<std::uint64_t> values) override;
  std::vector<std::string> all_gather(const std::string& mine) override;
  void broadcast(std::string& bytes, int root) override;
  std::string scatter(const std::vector<std::string>& parts, int root) override;
  // A short delivery is valid until the next call.
  Delivery all_to_all(std::span<const MessagePair> to) override;
  std::unique_ptr<Communicator> split(int colour) override;

 private:
  void check(int code) {
    if (code != MPI_SUCCESS) *memory_.failed = true;
  }
  bool finish(int begun, MPI_Request* request);
  void reduce(std::span<std::uint64_t> values, MPI_Op op, MPI_Datatype type);
  bool all_have_memory(bool mine);

  MPI_Comm comm_;
  bool owned_;
  int rank_ = 0;
  int size_ = 1;
  MessageMemory memory_;
};

}  // namespace zazen
