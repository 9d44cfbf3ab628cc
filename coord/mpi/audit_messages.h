// Messages between two ranks, without a collective (D13): at the end of a job the fragments to
// rank 0, what the nodes' runs did, and what follows from them; at its start where rank 0's view is.
//
// Some rank may have died or left; so everything here is bounded. A message travels in pieces
// of at most 2 KB, which MPI sends eagerly: the sender is done whether or not anybody ever
// receives them.
#pragma once
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace zazen {

inline constexpr int kFragmentTag = 2, kLossTag = 3, kViewTag = 4, kRunTag = 5;

// Returns within a second or so.
void send_message(MPI_Comm comm, int to, int tag, const std::string& message);

// The message of each expected rank, or nothing if it did not come in time.
std::vector<std::optional<std::string>> receive_messages(MPI_Comm comm, int tag,
                                                         const std::vector<bool>& expected,
                                                         double wait_seconds);

}  // namespace zazen
