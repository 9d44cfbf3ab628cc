// The pieces from one rank arrive in order (MPI does not let messages overtake each other), so
// they are appended. A piece that does not fit makes only its own message invalid.
#include "coord/mpi/audit_messages.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "coord/mpi/backoff.h"

namespace zazen {
namespace {

constexpr double kSendSeconds = 1.0;
constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

struct Piece {
  struct Header {
    std::uint64_t total;
    std::uint64_t offset;
    std::uint64_t length;
  } header;
  char bytes[2048 - sizeof(Header)];
};
static_assert(sizeof(Piece) == 2048);

struct Assembly {
  std::string bytes;
  std::uint64_t received = 0;
  bool broken = false;
  bool whole = false;
};

void add_piece(const Piece& piece, int size, Assembly* assembly) {
  const Piece::Header& header = piece.header;
  const auto room = static_cast<std::uint64_t>(size) - sizeof header;
  if (static_cast<std::size_t>(size) < sizeof header || header.length != room ||
      header.total > kMaxMessageBytes || header.offset != assembly->received ||
      header.offset + header.length > header.total || assembly->whole) {
    assembly->broken = true;
    return;
  }
  assembly->bytes.append(piece.bytes, header.length);
  assembly->received += header.length;
  assembly->whole = assembly->received == header.total;
}

}  // namespace

void send_message(MPI_Comm comm, int to, int tag, const std::string& message) {
  constexpr std::size_t room = sizeof Piece{}.bytes;
  const std::size_t count = std::max<std::size_t>(1, (message.size() + room - 1) / room);
  std::vector<Piece> pieces(count);
  std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = std::min(room, message.size() - i * room);
    pieces[i].header = {message.size(), i * room, length};
    std::memcpy(pieces[i].bytes, message.data() + i * room, length);
    if (PMPI_Isend(&pieces[i], static_cast<int>(sizeof(Piece::Header) + length), MPI_BYTE, to,
                   tag, comm, &requests[i]) != MPI_SUCCESS)
      break;
  }
  const double deadline = seconds_now() + kSendSeconds;
  for (;;) {
    int done = 0;
    const int code =
        PMPI_Testall(static_cast<int>(count), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (code == MPI_SUCCESS && done != 0) return;
    if (code != MPI_SUCCESS || seconds_now() > deadline) break;
    ::usleep(200);
  }
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
  // MPI may still read the pieces that it has not sent: they must outlive this call.
  [[maybe_unused]] auto* kept = new std::vector<Piece>(std::move(pieces));
}

std::vector<std::optional<std::string>> receive_messages(MPI_Comm comm, int tag,
                                                         const std::vector<bool>& expected,
                                                         double wait_seconds) {
  std::vector<Assembly> assemblies(expected.size());
  auto waiting = [&] {
    for (std::size_t r = 0; r < expected.size(); ++r)
      if (expected[r] && !assemblies[r].whole && !assemblies[r].broken) return true;
    return false;
  };
  const double deadline = seconds_now() + wait_seconds;
  Backoff backoff;
  while (waiting()) {
    int arrived = 0;
    MPI_Status status;
    if (PMPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &arrived, &status) != MPI_SUCCESS) break;
    if (seconds_now() > deadline) break;
    if (arrived == 0) {
      backoff.pause();
      continue;
    }
    backoff = {};
    Piece piece;
    int size = 0;
    if (PMPI_Recv(&piece, sizeof piece, MPI_BYTE, status.MPI_SOURCE, tag, comm, &status) !=
            MPI_SUCCESS ||
        PMPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS)
      break;
    add_piece(piece, size, &assemblies[static_cast<std::size_t>(status.MPI_SOURCE)]);
  }
  std::vector<std::optional<std::string>> messages(expected.size());
  for (std::size_t r = 0; r < expected.size(); ++r)
    if (assemblies[r].whole && !assemblies[r].broken)
      messages[r] = std::move(assemblies[r].bytes);
  return messages;
}

}  // namespace zazen
