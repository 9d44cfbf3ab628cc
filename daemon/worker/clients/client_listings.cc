// A listing that a client has made of a dataset's directory is checked and goes to zazend,
// which keeps it for the next job (D20).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bodhi/lean/system/raw_call.h"
#include "bodhi/node/packed_listing.h"
#include "daemon/worker/clients/client_service.h"
#include "daemon/worker/origins/origin.h"
#include "daemon/worker/origins/origin_way.h"

namespace zazen {
namespace {

constexpr off_t kLargestListing = off_t{1} << 27;

}  // namespace

int ClientService::keep_listing(std::uint32_t dataset, int fd) {
  // Only a file in memory has seals. The file system of another file could block this thread.
  if (::fcntl(fd, F_GET_SEALS) < 0) return EINVAL;
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return errno;
  if (st.st_size > kLargestListing) return EFBIG;
  std::string encoded(static_cast<std::size_t>(st.st_size), '\0');
  const long size = raw_read_at(fd, encoded.data(), encoded.size(), 0);
  if (size < 0) return static_cast<int>(-size);
  if (size != st.st_size) return EINVAL;
  Result<PackedListing> listing = PackedListing::read(encoded);
  if (!listing.ok()) return EINVAL;
  if (!is_settled(listing->directory(), listing->taken_at_ns())) return EAGAIN;
  const DatasetConfig& config = config_.datasets[dataset];
  const std::string directory = frame_directory(config.path, config.name);
  Result<DirectoryIdentity> now = stat_directory(directory, config.name);
  if (!now.ok()) return now.error().code;
  if (*now != listing->directory()) return ESTALE;
  FinishListing finish;
  if (config_.all_users) {
    finish.reached = OriginWay(directory, "").directories();
    if (finish.reached.back().places.empty() ||
        finish.reached.back().places.back().second != now->ino) {
      return ESTALE;
    }
  }
  BeginListing::Reply begun;
  if (int code = link_.ask(BeginListing{dataset, encoded.size()}, &begun); code != 0) {
    return code;
  }
  const int written = -raw_write_all(begun.file.get(), encoded.data(), encoded.size());
  // An empty file is no listing and returns the ticket.
  if (written != 0 && ::ftruncate(begun.file.get(), 0) != 0) return errno;
  begun.file.reset();
  finish.ticket = begun.ticket;
  const int kept = link_.ask(finish);
  return written != 0 ? written : kept;
}

}  // namespace zazen
