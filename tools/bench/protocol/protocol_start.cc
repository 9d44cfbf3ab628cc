#include "tools/bench/protocol/protocol_start.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace zazen {

std::optional<std::size_t> parse_frames(const std::string& text) {
  constexpr double most = 1e10;
  char* end = nullptr;
  const double frames = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(frames >= 1 && frames <= most)) return std::nullopt;
  if (std::floor(frames) != frames) return std::nullopt;
  return static_cast<std::size_t>(frames);
}

Error start_protocol_bench(std::size_t frames, const std::string& workload, bool json) {
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored)
                                  .replace_filename("zazen-bench-protocol");
  const std::string count = std::to_string(frames);
  ::execl(program.c_str(), program.c_str(), count.c_str(), workload.c_str(),
          json ? "--json" : nullptr, nullptr);
  return last_error(program);
}

}  // namespace zazen
