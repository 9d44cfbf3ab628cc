// The shim's scan of a configuration: what it finds fits, is plain text, and is the same in a
// file as in memory.
#include "bodhi/lean/system/runtime_line.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchDirectory scratch;
  MappedBytes text(data, size);
  char found[64], in_file[64];
  std::size_t length = scan_runtime_line(text.as<char>(), size, found, sizeof found);
  demand(length < sizeof found);
  std::string path = scratch.write("zazen.toml", as_text(data, size));
  demand(scan_runtime_file(path.c_str(), in_file, sizeof in_file) == length);
  if (length == 0) return 0;
  demand(std::strlen(found) == length && std::strcmp(found, in_file) == 0);
  for (std::size_t i = 0; i < length; ++i) {
    demand(static_cast<unsigned char>(found[i]) >= 0x20 && found[i] != '"' && found[i] != '\\');
  }
  demand(scan_runtime_line(text.as<char>(), size, found, length) == 0);
  return 0;
}
