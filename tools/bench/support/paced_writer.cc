#include "tools/bench/support/paced_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

constexpr int kPatienceMs = 120'000;

}  // namespace

Result<std::unique_ptr<PacedWriter>> PacedWriter::start(const PushedNode& node,
                                                        const std::string& dataset,
                                                        std::span<const char> content,
                                                        double bytes_per_second) {
  Result<WriterSettings> settings = node.writer_settings(dataset);
  if (!settings) return settings.error();
  // One frame on its way and the next.
  settings->memory_bytes = std::max<std::uint64_t>(settings->memory_bytes, 2 * content.size());
  Result<std::shared_ptr<Writer>> writer = Writer::start(std::move(*settings));
  if (!writer) return writer.error();
  return std::unique_ptr<PacedWriter>(
      new PacedWriter(std::move(*writer), dataset, content, bytes_per_second));
}

PacedWriter::PacedWriter(std::shared_ptr<Writer> writer, std::string dataset,
                         std::span<const char> content, double bytes_per_second)
    : writer_(std::move(writer)),
      dataset_(std::move(dataset)),
      content_(content),
      period_(static_cast<double>(content.size()) / bytes_per_second),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

PacedWriter::~PacedWriter() {
  thread_ = {};
  writer_->close(0);
}

void PacedWriter::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const Clock::time_point begin = Clock::now();
  for (FrameSeq seq = 0; queued_; ++seq) {
    const auto due =
        std::chrono::duration_cast<Clock::duration>(period_ * (static_cast<double>(seq) + 0.5));
    never.wait_until(lock, stop, begin + due, [] { return false; });
    if (stop.stop_requested()) return;
    if (writer_->await_room(kPatienceMs)) {
      queued_ = writer_->write(dataset_, seq, std::as_bytes(content_));
    } else {
      queued_ = Error{ETIMEDOUT, "a push", {}};
    }
  }
}

Status PacedWriter::finish() {
  thread_ = {};
  if (!queued_) return queued_;
  if (Status flushed = writer_->flush(kPatienceMs); !flushed) return flushed;
  const Writer::Figures figures = writer_->figures();
  if (figures.pushed != figures.queued) {
    return Error{
        EPROTO, fmt::format("{} of {} frames were pushed", figures.pushed, figures.queued), {}};
  }
  return Done{};
}

}  // namespace zazen
