// Included before coord/ when it is compiled against SMPI: a few calls of MPI in a form that
// SimGrid 3.32 can take at a thousand hosts. The messages and their simulated time are the
// same.
//
// No send is detached (smpi/send-is-detached-thresh:0): SimGrid keeps the detached ones of all
// hosts in one list and looks through all of it for each that ends, which took 44 of 53 s on
// 128 hosts, and grows with the fourth power of their number. Its collectives that do not block
// fail without detached sends; the two that the exchange uses are here with the same messages,
// each host to each, all at once.
//
// A list of each host's messages remains, and is looked through as often. The hosts post in
// turns, at the same simulated time: so the nodes of a list lie together (smpi_objects.cc).
//
// A message is looked for among all that wait at its receiver. Receives are posted in the order
// in which the hosts take their turns, as far as it is known: so the one that is wanted is one
// of the first. With the neighbour first it was the last: a third of the time on 512 hosts.
//
// MPI_Waitall registers all requests again after each that ends; one after the other is the
// same in simulated time. Nor is a request asked for again and again: SMPI charges each
// question.
#pragma once
#include <mpi.h>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

struct Receive {
  void* to;
  int count;
  MPI_Datatype type;
  int from, tag;
  MPI_Comm comm;
  MPI_Request* request;
};

// Of a host to post its messages: from the first that it posts until it waits for them.
class Turn {
 public:
  void take() {
    const aid_t me = simgrid::s4u::this_actor::get_pid();
    if (holder_ == me) return;
    mutex_->lock();
    holder_ = me;
    Past& mine = past(me);
    ++mine.turns;
    mine.last = ++turns_;
  }
  void leave() {
    if (holder_ != simgrid::s4u::this_actor::get_pid()) return;
    post_receives();
    holder_ = kNobody;
    mutex_->unlock();
  }
  void receive(const Receive& one) { receives_.push_back(one); }
  // First those whose senders have had this turn, then the others in the order of the last one.
  void post_receives() {
    if (receives_.empty()) return;
    const std::size_t round = past(holder_).turns;
    std::ranges::stable_sort(receives_, {}, [&](const Receive& one) {
      const Past& sender = past(one.from + 1);  // SimGrid counts the hosts from 1
      return std::pair(sender.turns < round, sender.last);
    });
    for (const Receive& r : receives_)
      MPI_Irecv(r.to, r.count, r.type, r.from, r.tag, r.comm, r.request);
    receives_.clear();
  }

 private:
  static constexpr aid_t kNobody = -1;
  struct Past {
    std::size_t turns = 0;
    std::size_t last = 0;
  };
  Past& past(aid_t host) {
    const auto at = static_cast<std::size_t>(host);
    if (pasts_.size() <= at) pasts_.resize(at + 1);
    return pasts_[at];
  }

  simgrid::s4u::MutexPtr mutex_ = simgrid::s4u::Mutex::create();
  aid_t holder_ = kNobody;
  std::size_t turns_ = 0;
  std::vector<Past> pasts_;
  std::vector<Receive> receives_;  // of the holder
};

// Never destroyed: SimGrid is gone before this program's globals are.
inline Turn& turn() {
  static Turn* const of_all_hosts = new Turn;
  return *of_all_hosts;
}

inline int send_in_turn(const void* from, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm, MPI_Request* request) {
  turn().take();
  turn().post_receives();
  return MPI_Isend(from, count, type, to, tag, comm, request);
}

inline int receive_in_turn(void* to, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Request* request) {
  turn().take();
  turn().receive({to, count, type, from, tag, comm, request});
  return MPI_SUCCESS;
}

inline int wait_for_each(int count, MPI_Request* requests, MPI_Status*) {
  turn().leave();
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
    receive_in_turn(receive(from), count, type, from, kTag, comm,
                    &requests.emplace_back(MPI_REQUEST_NULL));
  }
  for (int i = 1; i < ranks; ++i) {
    const int to = (me + i) % ranks;
    send_in_turn(send(to), count, type, to, kTag, comm,
                 &requests.emplace_back(MPI_REQUEST_NULL));
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

#define PMPI_Irecv receive_in_turn
#define PMPI_Isend send_in_turn
#define PMPI_Waitall wait_for_each
#define PMPI_Testall test_when_done
#define PMPI_Ialltoall all_to_all_at_once
#define PMPI_Iallreduce all_reduce_at_once
