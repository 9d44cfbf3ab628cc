#include "daemon/own_writer.h"

#include "bodhi/writer_settings.h"
#include "daemon/log.h"

namespace zazen {
namespace {

constexpr int kLeaveMs = 1'000;

void add(const Writer::Figures& more, Writer::Figures* sum) {
  sum->queued += more.queued;
  sum->pushed += more.pushed;
  sum->dropped += more.dropped;
  sum->left += more.left;
  sum->waiting += more.waiting;
  sum->bytes += more.bytes;
}

}  // namespace

OwnWriter::OwnWriter(const Config& config, IsBeingWritten is_being_written)
    : config_(config), is_being_written_(std::move(is_being_written)), keys_(config) {}

Result<std::shared_ptr<Writer>> OwnWriter::make_writer() const {
  Result<WriterSettings> settings = writer_settings(keys_);
  if (!settings) return settings.error();
  // The datasets as the daemon knows them: not every key changes with a reload.
  settings->datasets.clear();
  for (const DatasetConfig& dataset : config_.datasets) {
    settings->datasets.push_back({dataset.path, dataset.name});
  }
  settings->spool.clear();
  settings->is_being_written = is_being_written_;
  return Writer::start(std::move(*settings));
}

Writer* OwnWriter::present() {
  if (writer_ || failed_ || stopping_) return writer_.get();
  Result<std::shared_ptr<Writer>> made = make_writer();
  if (made) {
    writer_ = std::move(*made);
    return writer_.get();
  }
  failed_ = true;
  log_line(LogLevel::kError, "no_writer",
           {{"what", "frames that programs write are not pushed"},
            {"error", made.error().message()},
            {"hint", "after a change: SIGHUP; then zazenctl push"}});
  return nullptr;
}

void OwnWriter::push(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard lock(mutex_);
  Writer* writer = present();
  if (writer != nullptr && writer->write_file(config_.datasets[dataset].path, seq)) return;
  ++ended_.queued;
  ++ended_.dropped;
}

void OwnWriter::renew(const Config& next) {
  std::lock_guard lock(mutex_);
  keys_ = next;
  keys_.runtime = config_.runtime;  // which no reload changes
  failed_ = false;
  if (writer_) retired_.push_back(std::move(writer_));
  retire();
}

void OwnWriter::retire() {
  std::erase_if(retired_, [this](const std::shared_ptr<Writer>& writer) {
    Writer::Figures figures = writer->figures();
    if (figures.waiting > 0) return false;
    add(figures, &ended_);
    writer->close(0, 0);
    return true;
  });
}

Writer::Figures OwnWriter::figures() {
  std::lock_guard lock(mutex_);
  retire();
  Writer::Figures sum = ended_;
  for (const auto& writer : retired_) add(writer->figures(), &sum);
  if (writer_) add(writer_->figures(), &sum);
  return sum;
}

std::vector<Writer::NodeFigures> OwnWriter::nodes() {
  std::lock_guard lock(mutex_);
  std::vector<Writer::NodeFigures> nodes;
  for (std::size_t i = 0; writer_; ++i) {
    std::optional<Writer::NodeFigures> node = writer_->node_figures(i);
    if (!node) break;
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

bool OwnWriter::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  if (writer_) retired_.push_back(std::move(writer_));
  for (const auto& writer : retired_) writer->close(0, 0);
  bool ended = true;
  for (const auto& writer : retired_) ended = writer->close(0, kLeaveMs) && ended;
  return ended;
}

}  // namespace zazen
