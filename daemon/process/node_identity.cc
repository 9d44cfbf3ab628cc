#include "daemon/process/node_identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "bodhi/common/unique_fd.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

constexpr char kFile[] = "node-id";
constexpr char kNewFile[] = "node-id.new";

}  // namespace

Result<NodeId> load_or_make_node_id(int state_fd) {
  NodeId id = {};
  UniqueFd old(::openat(state_fd, kFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (old.valid()) {
    ssize_t size = ::read(old.get(), id.bytes, sizeof id.bytes);
    if (size == static_cast<ssize_t>(sizeof id.bytes)) return id;
    return Error{EINVAL, "the cache's .zazen/node-id is not 16 bytes long",
                 "remove it: the node then gets a new id"};
  }
  if (errno != ENOENT) return failed_call("the cache's .zazen/node-id");

  if (::getrandom(id.bytes, sizeof id.bytes, 0) != static_cast<ssize_t>(sizeof id.bytes)) {
    return failed_call("getrandom");
  }
  UniqueFd made(::openat(state_fd, kNewFile,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made.valid() ||
      ::write(made.get(), id.bytes, sizeof id.bytes) != static_cast<ssize_t>(sizeof id.bytes) ||
      ::fdatasync(made.get()) != 0 || ::renameat(state_fd, kNewFile, state_fd, kFile) != 0) {
    return failed_call("cannot write the cache's .zazen/node-id");
  }
  return id;
}

}  // namespace zazen
