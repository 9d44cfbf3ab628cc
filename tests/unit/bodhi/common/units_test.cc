#include "bodhi/common/units.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

std::uint64_t size(std::string_view text) {
  auto result = parse_size(text);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? *result : 0;
}

TEST(Units, ParsesSizes) {
  EXPECT_EQ(size("4096"), 4096u);
  EXPECT_EQ(size("0"), 0u);
  EXPECT_EQ(size("12B"), 12u);
  EXPECT_EQ(size("1.8TB"), 1'800'000'000'000u);
  EXPECT_EQ(size("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(size("64MiB"), 64u << 20);
  EXPECT_EQ(size("64 MiB"), 64u << 20);
  EXPECT_EQ(size(" 3 kB "), 3000u);
  EXPECT_EQ(size("3kb"), 3000u);
  EXPECT_EQ(size("1KiB"), 1024u);
  EXPECT_EQ(size("0.5TiB"), 1ULL << 39);
  EXPECT_EQ(size("2PB"), 2'000'000'000'000'000u);
  EXPECT_EQ(size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(size("0.001kB"), 1u);
}

TEST(Units, RefusesTheRest) {
  for (const char* text :
       {"", " ", "TB", "-1", "+1", "1.TB", ".5TB", "1..5TB", "1.5", "1.5B", "1 XB", "1TBx",
        "1e3", "1 T B", "80%", "0x10", "1,5GB", "1Tb/s", "1.0000000000000000000GB"}) {
    auto result = parse_size(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, EINVAL) << text;
    EXPECT_NE(result.error().context.find(text), std::string::npos);
  }
  for (const char* text : {"18446744073709551616", "18446744073709551615kB", "19EB",
                           "99999999999999999999999999999999999999999999999999"}) {
    auto result = parse_size(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, ERANGE) << text;
  }
}

TEST(Units, FormatsSizes) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(999), "999 B");
  EXPECT_EQ(format_size(1000), "1.00 kB");
  EXPECT_EQ(format_size(1'620'000'000'000), "1.62 TB");
  EXPECT_EQ(format_size(9'994), "9.99 kB");
  EXPECT_EQ(format_size(9'996), "10.0 kB");
  EXPECT_EQ(format_size(98'000'000'000), "98.0 GB");
  EXPECT_EQ(format_size(123'456'789), "123 MB");
  EXPECT_EQ(format_size(999'499), "999 kB");
  EXPECT_EQ(format_size(999'500), "1.00 MB");
  EXPECT_EQ(format_size(UINT64_MAX), "18.4 EB");
}

TEST(Units, FormatsCounts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(41'208), "41,208");
  EXPECT_EQ(format_count(123'456), "123,456");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, ParsesTimes) {
  const std::pair<const char*, std::uint64_t> times[] = {
      {"500ms", 500},    {"30s", 30'000},          {"1.5 min", 90'000},
      {"1h", 3'600'000}, {" 2D ", 2 * 86'400'000}, {"0s", 0}};
  for (const auto& [text, ms] : times) {
    auto result = parse_time_ms(text);
    ASSERT_TRUE(result.ok()) << text;
    EXPECT_EQ(*result, ms) << text;
  }
  for (const char* text : {"", "1", "s", "1m", "-1s", "1.5ms", "99999999999999999999h"}) {
    EXPECT_FALSE(parse_time_ms(text).ok()) << text;
  }
}

}  // namespace
}  // namespace zazen
