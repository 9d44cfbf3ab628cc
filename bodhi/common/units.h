// Sizes, counts and times as people write and read them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bodhi/common/result.h"

namespace zazen {

// "1.8TB", "64 MiB", "4096": decimal units (kB, MB, GB, TB) are powers of ten, KiB, MiB and
// so on powers of two.
Result<std::uint64_t> parse_size(std::string_view text);
// "30s", "1.5h", "500ms": ms, s, min, h and d. In milliseconds.
Result<std::uint64_t> parse_time_ms(std::string_view text);
std::string format_size(std::uint64_t bytes);    // "1.62 TB"
std::string format_count(std::uint64_t number);  // "41,208"

}  // namespace zazen
