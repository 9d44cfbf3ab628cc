// Included before coord/ when it is compiled against SMPI: a few calls of MPI in a form that
// SimGrid 3.32 can take on hundreds of hosts. The messages and their simulated time are the
// same.
//
// No send is detached (smpi/send-is-detached-thresh:0): SimGrid keeps the detached ones of all
// hosts in one list and looks through all of it for each that ends. Its collectives that do not
// block fail without detached sends; the two that the exchange uses are here with the same
// messages, each host to each, all at once.
//
// MPI_Waitall registers all requests again after each that ends; one after the other is the
// same in simulated time. A question whether messages have arrived becomes a wait for them:
// SMPI charges simulated time for each question.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <vector>

inline int wait_for_each(int count, MPI_Request* requests, MPI_Status*) {
  int first_error = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const int code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (first_error == MPI_SUCCESS) first_error = code;
  }
  return first_error;
}

inline int test_when_done(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  *done = 1;
  return wait_for_each(count, requests, statuses);
}

// send(r) is what goes to rank r, receive(r) where that of rank r is to be: `count` of `type`.
template <class Send, class Receive>
int each_to_each(int count, MPI_Datatype type, MPI_Comm comm, Send&& send, Receive&& receive) {
  constexpr int kTag = 1000;
  int me = 0, ranks = 1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  std::vector<MPI_Request> requests;
  requests.reserve(2 * static_cast<std::size_t>(ranks));
  for (int i = 1; i < ranks; ++i) {
    const int from = (me + ranks - i) % ranks;
    MPI_Irecv(receive(from), count, type, from, kTag, comm,
              &requests.emplace_back(MPI_REQUEST_NULL));
  }
  for (int i = 1; i < ranks; ++i) {
    const int to = (me + i) % ranks;
    MPI_Isend(send(to), count, type, to, kTag, comm, &requests.emplace_back(MPI_REQUEST_NULL));
  }
  return wait_for_each(static_cast<int>(requests.size()), requests.data(), nullptr);
}

inline int all_to_all_at_once(const void* in, int count, MPI_Datatype type, void* out, int,
                              MPI_Datatype, MPI_Comm comm, MPI_Request*) {
  int me = 0, size = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Type_size(type, &size);
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  auto sent = [&](int r) {
    return static_cast<const std::byte*>(in) + static_cast<std::size_t>(r) * bytes;
  };
  auto received = [&](int r) {
    return static_cast<std::byte*>(out) + static_cast<std::size_t>(r) * bytes;
  };
  std::memcpy(received(me), sent(me), bytes);
  return each_to_each(count, type, comm, sent, received);
}

// In place, as coord/ calls it.
inline int all_reduce_at_once(const void*, void* values, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request*) {
  int me = 0, ranks = 1, size = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  MPI_Type_size(type, &size);
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  std::vector<std::byte> all(static_cast<std::size_t>(ranks) * bytes);
  auto of = [&](int r) { return all.data() + static_cast<std::size_t>(r) * bytes; };
  const int code = each_to_each(
      count, type, comm, [&](int) { return values; }, of);
  for (int r = 0; r < ranks; ++r)
    if (r != me) MPI_Reduce_local(of(r), values, count, type, op);
  return code;
}

#define PMPI_Waitall wait_for_each
#define PMPI_Testall test_when_done
#define PMPI_Ialltoall all_to_all_at_once
#define PMPI_Iallreduce all_reduce_at_once
