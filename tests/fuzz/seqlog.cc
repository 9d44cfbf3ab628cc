// A sequence log that was damaged. The writer and a reader see the same frames, and so does a
// second look. Records that are appended afterwards are there. With a summary, sound or
// damaged, a reader of a sound log sees what the writer wrote.
//
// With 0 as the first byte the rest is the file. Otherwise the daemon's own code writes a log,
// which is then damaged, because no fuzzer guesses a checksum.
#include "bodhi/node/seqlog.h"

#include <fcntl.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <set>

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr char kLog[] = "log";

std::set<FrameSeq> write_log(int directory, FuzzedDataProvider& input) {
  Result<SequenceLog> log = SequenceLog::open(directory, kLog);
  demand(log.ok());
  std::set<FrameSeq> truth;
  for (int rounds = input.ConsumeIntegralInRange(0, 8); rounds > 0; --rounds) {
    std::vector<FrameSeq> added, forgotten;
    for (int i = input.ConsumeIntegralInRange(0, 8); i > 0; --i) {
      FrameSeq seq = input.ConsumeBool() ? input.ConsumeIntegral<std::uint8_t>()
                                         : input.ConsumeIntegral<FrameSeq>();
      (input.ConsumeBool() ? added : forgotten).push_back(seq);
    }
    demand(log->append(added, forgotten).ok());
    truth.insert(added.begin(), added.end());
    for (FrameSeq seq : forgotten) truth.erase(seq);
    if (input.ConsumeBool()) demand(log->summarize(directory, kLog).ok());
  }
  return truth;
}

void damage(const std::string& path, FuzzedDataProvider& input) {
  std::size_t size = std::filesystem::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int i = input.ConsumeIntegralInRange(0, 4); i > 0 && size > 0; --i) {
    file.seekp(
        static_cast<std::streamoff>(input.ConsumeIntegralInRange<std::size_t>(0, size - 1)));
    file.put(input.ConsumeIntegral<char>());
  }
  file.close();
  if (input.ConsumeBool()) {
    std::filesystem::resize_file(path, input.ConsumeIntegralInRange<std::size_t>(0, size + 40));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchDirectory scratch;
  static const UniqueFd directory(::open(scratch.path().c_str(), O_PATH | O_DIRECTORY));
  if (size == 0) return 0;
  std::string path = scratch.path() + "/" + kLog;
  if (data[0] == 0) {
    std::filesystem::remove(summary_of(path));
    scratch.write(kLog, as_text(data + 1, size - 1));
  } else {
    FuzzedDataProvider input(data + 1, size - 1);
    std::filesystem::remove(path);
    const std::set<FrameSeq> truth = write_log(directory.get(), input);
    const FrameSet written(std::vector<FrameSeq>(truth.begin(), truth.end()));
    demand(*read_sequence_log(path) == written);
    const std::string summary = summary_of(path);
    if (std::filesystem::exists(summary)) {
      damage(summary, input);
      demand(*read_sequence_log(path) == written);
      std::filesystem::remove(summary);
    }
    damage(path, input);
  }

  Result<FrameSet> seen = read_sequence_log(path);
  std::set<FrameSeq> shown;
  Result<SequenceLog> log =
      SequenceLog::open(directory.get(), kLog, [&](FrameSeq seq, bool held) {
        held ? (void)shown.insert(seq) : (void)shown.erase(seq);
      });
  demand(seen.ok() && log.ok() &&
         FrameSet(std::vector<FrameSeq>(shown.begin(), shown.end())) == *seen);
  const FrameSeq more[] = {7, ~FrameSeq{0}};
  demand(log->append(more, {}).ok());
  demand(*read_sequence_log(path) == set_union(*seen, FrameSet({7, ~FrameSeq{0}})));
  return 0;
}
