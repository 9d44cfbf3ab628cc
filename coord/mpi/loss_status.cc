#include "coord/mpi/loss_status.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>

#include "coord/audit/end_watch.h"
#include "coord/mpi/audit_messages.h"

namespace zazen {
namespace {

constexpr int kBelow = 64;  // ranks that connect to one rank
constexpr double kLeastNewsSeconds =
    600;  // for rank 0's message, which waits for the slowest rank
constexpr double kLeastEndSeconds =
    60;                            // from here on for the ranks below, if the job was short
constexpr double kAgeFactor = 10;  // times the age of the job
constexpr double kConnectSeconds = 10;
constexpr time_t kUnwatchedSeconds = 5;  // for ranks that could not connect

struct Ending {
  pid_t process = 0;
  bool changes_status = false;
  double seconds = 0;
  bool all_are_watched = true;
  std::unique_ptr<EndWatch> watch;  // null: no rank is below
};
// Never destroyed: other destructors may still call exit() or _exit().
std::atomic<Ending*> ending{nullptr};

void at_exit(int status, void*) {
  const int end = status_at_end(status);
  // The remaining exit handlers run, and buffered output is written, with this status.
  if (end != status) std::exit(end);
}

// An empty message: nothing was lost. Otherwise the address to connect to; "?" if there is
// none.
std::string news_from(MPI_Comm comm, int above, int ranks, double seconds) {
  std::vector<bool> expected(static_cast<std::size_t>(ranks));
  expected[static_cast<std::size_t>(above)] = true;
  auto arrived = receive_messages(comm, kLossTag, expected, seconds);
  return arrived[static_cast<std::size_t>(above)].value_or("");
}

}  // namespace

void share_loss(MPI_Comm comm, bool is_lost, double job_seconds) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  if (rank != 0) {
    const std::string news = news_from(comm, (rank - 1) / kBelow, ranks,
                                       std::max(kLeastNewsSeconds, kAgeFactor * job_seconds));
    is_lost = !news.empty();
    if (is_lost) hold_connection(news);
  }
  const int first = rank * kBelow + 1, end = std::min(first + kBelow, ranks);
  const int below = std::max(0, end - first);
  std::unique_ptr<EndWatch> watch = is_lost && below > 0 ? EndWatch::open() : nullptr;
  const std::string news = watch ? watch->place() : is_lost ? "?" : "";
  for (int r = first; r < end; ++r) send_message(comm, r, kLossTag, news);
  if (!is_lost || (rank != 0 && below == 0)) return;

  const bool all_came = below == 0 || (watch && watch->admit(below, kConnectSeconds) == below);
  ending =
      new Ending{::getpid(), rank == 0, std::max(kLeastEndSeconds, kAgeFactor * job_seconds),
                 all_came, std::move(watch)};
  ::on_exit(at_exit, nullptr);
}

int status_at_end(int status) noexcept {
  const Ending* mine = ending.load();
  if (mine == nullptr || mine->process != ::getpid() || (status & 0xff) != 0) return status;
  ending = nullptr;
  if (mine->watch) mine->watch->wait_for_ends(mine->seconds);
  if (!mine->all_are_watched) {
    timespec left{kUnwatchedSeconds, 0};
    while (::nanosleep(&left, &left) != 0) {
    }
  }
  return mine->changes_status ? kLossStatus : status;
}

}  // namespace zazen
