// MpiCommunicator: the protocol's Communicator over MPI, by PMPI_ names only, on a
// communicator of our own whose errors are returned.
//
// Messages are at most 64 MB at a time: counts are ints, and a reduction needs as much
// memory again inside the library. Where a size is not known beforehand the ranks exchange
// it first and vote on whether all of them have the memory; if not, all of them fail
// together. A failure is noted for the whole family of split communicators.
#pragma once
#include <mpi.h>

#include <memory>

#include "coord/communicator.h"

namespace zazen {

class MpiCommunicator final : public Communicator {
 public:
  // Takes the handle; frees it in the end if `owned`.
  MpiCommunicator(MPI_Comm comm, bool owned);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool failed() const override { return *failed_; }

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
  MpiCommunicator(MPI_Comm comm, bool owned, std::shared_ptr<bool> failed);
  void check(int code) {
    if (code != MPI_SUCCESS) *failed_ = true;
  }
  void reduce(std::span<std::uint64_t> values, MPI_Op op, MPI_Datatype type);
  bool all_have_memory(bool mine);

  MPI_Comm comm_;
  bool owned_;
  int rank_ = 0;
  int size_ = 1;
  std::shared_ptr<bool> failed_;
};

}  // namespace zazen
