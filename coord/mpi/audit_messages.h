// How the fragments reach rank 0 at the end of a job, without a collective (D13).
//
// Some rank may have died or left; so everything here is bounded. A fragment travels in
// pieces of at most 2 KB, which MPI sends eagerly: the sender is done whether or not rank 0
// ever receives them.
#pragma once
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace zazen {

// On a rank other than 0. Returns within a second or so.
void send_fragment(MPI_Comm comm, const std::string& fragment);

// On rank 0: the fragment of each expected rank, or nothing if it did not come in time.
std::vector<std::optional<std::string>> receive_fragments(MPI_Comm comm,
                                                          const std::vector<bool>& expected,
                                                          double wait_seconds);

}  // namespace zazen
