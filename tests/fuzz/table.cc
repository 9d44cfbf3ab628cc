// A daemon's table as a program maps it: a valid one can be walked as the shim does.
#include "bodhi/lean/frames/table.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const Table* table = bytes.as<Table>();
  if (!table_is_valid(table, size)) return 0;
  daemon_is_alive(*table, monotonic_ms());
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    const TableDataset& dataset = table->datasets[i];
    FrameName name;
    demand(names_of(dataset, &name));
    char frame[kMaxTemplate + 32], path[2 * kMaxPath + kMaxTemplate + 32];
    demand(name.format(kFirstCompanion - 1, frame, sizeof frame) != 0);
    std::size_t length = copy_path(*table, dataset, frame, path, sizeof path);
    demand(length == std::strlen(path) && path[0] == '/');
    demand(copy_path(*table, dataset, frame, path, length) == 0);
  }
  return 0;
}
