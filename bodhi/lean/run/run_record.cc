#include "bodhi/lean/run/run_record.h"

#include <time.h>

#include <cstdio>
#include <cstring>

#include "bodhi/lean/system/published_file.h"
#include "bodhi/lean/system/variables.h"

namespace zazen {
namespace {

// The digits up to the next blank; null if there are none.
const char* take_number(const char* text, std::uint64_t* number) {
  const char* blank = std::strchr(text, ' ');
  char digits[24];
  const auto length = static_cast<std::size_t>(blank == nullptr ? 0 : blank - text);
  if (blank == nullptr || length >= sizeof digits) return nullptr;
  std::memcpy(digits, text, length);
  digits[length] = '\0';
  return read_number(digits, number) ? blank + 1 : nullptr;
}

bool is_valid(const RunRecord& record) {
  return record.magic == kRunMagic && record.version == kRunVersion &&
         std::memchr(record.command, '\0', sizeof record.command) != nullptr &&
         std::memchr(record.directory, '\0', sizeof record.directory) != nullptr;
}

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

}  // namespace

bool read_run_place(const char* value, RunPlace* place) {
  std::uint64_t number = 0, started = 0, pid = 0, voice = 0;
  const char* rest = value;
  for (std::uint64_t* field : {&number, &started, &pid, &voice}) {
    rest = take_number(rest, field);
    if (rest == nullptr) return false;
  }
  const std::size_t length = std::strlen(rest);
  if (number == 0 || pid > INT32_MAX || voice > 2 || length >= sizeof place->directory) {
    return false;
  }
  place->number = number;
  place->started_ns = static_cast<std::int64_t>(started);
  place->pid = static_cast<std::int32_t>(pid);
  place->voice = static_cast<RunVoice>(voice);
  std::memcpy(place->directory, rest, length + 1);
  return true;
}

std::size_t write_run_place(const RunPlace& place, char* out) {
  return static_cast<std::size_t>(std::snprintf(
      out, kMaxRunValue, "%llu %lld %d %u %s", static_cast<unsigned long long>(place.number),
      static_cast<long long>(place.started_ns), place.pid, static_cast<unsigned>(place.voice),
      place.directory));
}

RunFigures figures_of(const RunRecord& record) {
  const Ledger& ledger = record.ledger;
  return {ledger.frames + record.other_frames,
          ledger.hits + record.other_hits,
          ledger.misses + record.other_misses,
          ledger.bytes_local + record.other_bytes_local,
          ledger.bytes_origin + record.other_bytes_origin,
          ledger.overflowed == 0};
}

std::size_t others_of(const RunRecord& record, const char* dataset,
                      OtherReport (&out)[OtherFiles::kMostShown]) {
  auto path_of = [&](std::uint32_t index) {
    return index < Ledger::kDatasets ? record.ledger.path_of(index) : "";
  };
  auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  std::uint32_t index = Ledger::kNoDataset;
  if (dataset != nullptr) {
    for (index = 0; index < Ledger::kDatasets && std::strcmp(path_of(index), dataset) != 0;)
      ++index;
    if (index == Ledger::kDatasets) return 0;
  }
  const OtherPattern* most[OtherFiles::kMostShown] = {};
  const std::size_t count = record.others.most_frequent(index, most);
  for (std::size_t i = 0; i < count; ++i) {
    const OtherPattern& pattern = *most[i];
    out[i] = {path_of(pattern.dataset), pattern.text,     pattern.calls[0],
              pattern.calls[1],         pattern.calls[2], seconds(pattern.open_ns),
              seconds(pattern.stat_ns)};
  }
  return count;
}

RunRecord* map_run_record(const char* directory) {
  std::size_t size = 0;
  RawFd file(open_published(directory, kRunFile, O_RDWR, &size));
  if (!file.valid() || size != sizeof(RunRecord)) return nullptr;
  auto* record = static_cast<RunRecord*>(map_published(file.get(), size, kReadWrite));
  if (record == nullptr || is_valid(*record)) return record;
  unmap_run_record(record);
  return nullptr;
}

RunRecord* make_run_record(const RunPlace& place) {
  auto* record = static_cast<RunRecord*>(
      raw_map(sizeof(RunRecord), kReadWrite, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1));
  if (record == nullptr) return nullptr;
  // Another host's process with the same number has another record.
  record->number = place.number ^ static_cast<std::uint64_t>(wall_clock_ns()) ^
                   static_cast<std::uint64_t>(raw_call(SYS_getpid)) << 40;
  record->started_ns = place.started_ns;
  record->job.store(place.number, std::memory_order_relaxed);
  return record;
}

void unmap_run_record(RunRecord* record) {
  raw_unmap(record, sizeof(RunRecord));
}

std::int64_t wall_clock_ns() {
  struct timespec now = {};
  raw_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void note_end(RunRecord& record, std::int64_t now_ns) {
  std::int64_t last = record.ended_ns.load(std::memory_order_relaxed);
  while (last < now_ns && !record.ended_ns.compare_exchange_weak(last, now_ns)) {
  }
}

}  // namespace zazen
