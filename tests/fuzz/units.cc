// Sizes as people write them: a printed size can be read again and is near the original.
#include "bodhi/common/units.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Result<std::uint64_t> bytes = parse_size(as_text(data, size));
  if (!bytes.ok()) return 0;
  Result<std::uint64_t> exact = parse_size(std::to_string(*bytes));
  demand(exact.ok() && *exact == *bytes);
  Result<std::uint64_t> again = parse_size(format_size(*bytes));
  demand(again.ok() || *bytes > UINT64_MAX / 100 * 99);
  if (!again.ok()) return 0;
  std::uint64_t distance = *again > *bytes ? *again - *bytes : *bytes - *again;
  demand(distance <= *bytes / 100);
  std::string count = format_count(*bytes);
  std::erase(count, ',');
  demand(count == std::to_string(*bytes));
  return 0;
}
