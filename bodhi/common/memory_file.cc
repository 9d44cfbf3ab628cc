#include "bodhi/common/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

Result<UniqueFd> sealed_memory(std::string_view bytes) {
  UniqueFd fd(::memfd_create("zazen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return last_error("memfd_create");
  const int code = raw_write_all(fd.get(), bytes.data(), bytes.size());
  if (code != 0) return Error{-code, "write a memory file", {}};
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return last_error("seal a memory file");
  return fd;
}

}  // namespace zazen
