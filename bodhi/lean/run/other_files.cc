#include "bodhi/lean/run/other_files.h"

#include <cstring>

#include "bodhi/lean/run/ledger.h"

namespace zazen {
namespace {

constexpr char kAllOthers[] = "other names";

// The pattern's own slot, or the last one.
OtherPattern& slot_of(OtherFiles& files, std::uint64_t key) {
  constexpr std::size_t kOwn = OtherFiles::kPatterns - 1;
  for (std::size_t probe = 0; probe < kOwn; ++probe) {
    OtherPattern& pattern = files.patterns[(key + probe) % kOwn];
    std::uint64_t found = pattern.key.load(std::memory_order_relaxed);
    if (found == 0 &&
        pattern.key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      return pattern;
    }
    if (found == key) return pattern;
  }
  return files.patterns[kOwn];
}

std::uint64_t calls_of(const OtherPattern& pattern) {
  return pattern.opens() + pattern.stats();
}

}  // namespace

bool OtherPattern::has_number() const {
  return std::memchr(text, '*', ::strnlen(text, sizeof text)) != nullptr;
}

void write_pattern(const char* name, char (&out)[OtherPattern::kText]) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t used = 0;
  for (; *name != '\0' && used + 1 < sizeof out; ++name) {
    out[used++] = is_digit(*name) ? '*' : *name;
    while (is_digit(name[0]) && is_digit(name[1])) ++name;
  }
  if (used == 0) out[used++] = '.';
  std::memset(out + used, 0, sizeof out - used);
}

void OtherFiles::note(std::uint32_t dataset, const char* name, OtherCall call,
                      std::int64_t ns) {
  char text[OtherPattern::kText];
  write_pattern(name, text);
  const std::uint64_t mixed = mix_bits(text_key(text) + dataset);
  OtherPattern& pattern = slot_of(*this, mixed == 0 ? 1 : mixed);
  if (pattern.is_named.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    // Processes that come at the same time write the same.
    const bool is_last = &pattern == &patterns[kPatterns - 1];
    pattern.dataset = is_last ? Ledger::kNoDataset : dataset;
    std::memcpy(pattern.text, is_last ? kAllOthers : text,
                is_last ? sizeof kAllOthers : sizeof text);
    pattern.is_named.store(1, std::memory_order_release);
  }
  pattern.calls[static_cast<std::uint32_t>(call)].fetch_add(1, std::memory_order_relaxed);
  (call == OtherCall::kStat ? pattern.stat_ns : pattern.open_ns)
      .fetch_add(static_cast<std::uint64_t>(ns < 0 ? 0 : ns), std::memory_order_relaxed);
}

std::size_t OtherFiles::most_frequent(std::uint32_t dataset,
                                      const OtherPattern* (&out)[kMostShown]) const {
  std::size_t count = 0;
  for (const OtherPattern& pattern : patterns) {
    if (pattern.is_named.load(std::memory_order_acquire) == 0 ||
        (dataset != Ledger::kNoDataset && pattern.dataset != dataset) ||
        std::memchr(pattern.text, '\0', sizeof pattern.text) == nullptr) {
      continue;
    }
    std::size_t at = count;
    while (at > 0 && calls_of(pattern) > calls_of(*out[at - 1])) --at;
    if (at == kMostShown) continue;
    if (count < kMostShown) ++count;
    for (std::size_t i = count - 1; i > at; --i) out[i] = out[i - 1];
    out[at] = &pattern;
  }
  return count;
}

}  // namespace zazen
