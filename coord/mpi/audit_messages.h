// Messages between two ranks, without a collective (D13). At the end of a job the ranks send
// their fragments and the figures of the nodes' runs to rank 0, which sends the results. At the
// start rank 0 sends the place of its view.
//
// A rank may have died or left, so everything here is bounded. A message travels in pieces of
// at most 2 KB, which MPI sends eagerly: the sender does not wait for the receiver.
#pragma once
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace zazen {

inline constexpr int kFragmentTag = 2, kLossTag = 3, kViewTag = 4, kRunTag = 5;

// Returns within about a second.
void send_message(MPI_Comm comm, int to, int tag, const std::string& message);

// The message of each expected rank; no value if it did not come in time.
std::vector<std::optional<std::string>> receive_messages(MPI_Comm comm, int tag,
                                                         const std::vector<bool>& expected,
                                                         double wait_seconds);

}  // namespace zazen
