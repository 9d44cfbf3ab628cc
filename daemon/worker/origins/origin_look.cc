#include "daemon/worker/origins/origin_look.h"

#include "daemon/origin/adoption.h"
#include "daemon/process/clock_tick.h"
#include "daemon/worker/origins/origin.h"

namespace zazen {

OriginLook look_at_origin(const DatasetConfig& dataset, const std::string& name,
                          std::uint64_t bytes, bool all_users) {
  OriginLook look;
  OriginFacts& facts = look.origin;
  const UniqueFd origin =
      find_named(dataset, name, kToRead, all_users ? &facts.reached : nullptr);
  if (!origin.valid()) return look;
  look.is_there = ::fstat(origin.get(), &facts.st) == 0;
  if (!look.is_there) return look;
  // A later change of the rights must leave another time.
  if (all_users) outwait_clock(facts.st.st_ctim, [] { return false; });
  if (has_writer(origin.get())) {
    look.status = EBUSY;
  } else if (::fstat(origin.get(), &facts.st) != 0) {
    look.status = errno;
  } else if (!S_ISREG(facts.st.st_mode)) {
    look.status = EINVAL;
  } else if (static_cast<std::uint64_t>(facts.st.st_size) != bytes) {
    look.status = ESTALE;
  } else {
    if (bytes > 0) look.digest = sample_digest(origin.get(), bytes);
    if (all_users) facts.acl = read_acl(origin.get());
    look.status = 0;
  }
  return look;
}

}  // namespace zazen
