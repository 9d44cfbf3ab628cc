#include "daemon/worker/push/frame_pusher.h"

#include <algorithm>

#include "bodhi/writer/writer_settings.h"
#include "daemon/process/log.h"
#include "daemon/worker/origins/origin.h"

namespace zazen {
namespace {

constexpr std::chrono::milliseconds kLeave{1'000};

void add(const Writer::Figures& more, Writer::Figures* sum) {
  sum->queued += more.queued;
  sum->pushed += more.pushed;
  sum->dropped += more.dropped;
  sum->left += more.left;
  sum->waiting += more.waiting;
  sum->bytes += more.bytes;
  sum->memory_bytes += more.memory_bytes;
}

bool same_peers(const WriterSettings& a, const WriterSettings& b) {
  return a.peers == b.peers && a.memory_bytes == b.memory_bytes && a.timeout_ms == b.timeout_ms;
}

}  // namespace

FramePusher::FramePusher(const Config& config, std::shared_ptr<KeyRing> key_ring,
                         IsBeingWritten is_being_written, int idle_ms, int retired_ms)
    : config_(config),
      key_ring_(std::move(key_ring)),
      is_being_written_(std::move(is_being_written)),
      idle_ms_(idle_ms),
      retired_limit_(retired_ms),
      keys_(config) {}

Result<std::shared_ptr<Writer>> FramePusher::make_writer(std::uint32_t dataset) {
  if (!settings_) {
    Result<Credentials> credentials = key_ring_->credentials();
    if (!credentials) return credentials.error();
    settings_ = writer_settings(keys_, key_ring_);
    key_ = credentials->key;
  }
  WriterSettings settings = *settings_;
  // As the daemon knows it: not every key changes with a reload.
  settings.datasets = {{config_.datasets[dataset].path, config_.datasets[dataset].name}};
  settings.spool.clear();
  settings.is_being_written = is_being_written_;
  settings.idle_ms = idle_ms_;
  settings.homes =
      std::clamp(kHomes / config_.datasets.size(), kFewestHomes, WriteQueue::kMostHomes);
  return Writer::start(std::move(settings));
}

Writer* FramePusher::writer_of(std::uint32_t dataset) {
  if (auto known = writers_.find(dataset); known != writers_.end()) return known->second.get();
  if (failed_ || stopping_) return nullptr;
  Result<std::shared_ptr<Writer>> made = make_writer(dataset);
  if (made) return writers_.emplace(dataset, std::move(*made)).first->second.get();
  failed_ = true;
  log_line(LogLevel::kError, "no_writer",
           {{"what", "frames that programs write are not pushed"},
            {"error", made.error().message()},
            {"hint", "after a change: SIGHUP; then zazenctl push"}});
  return nullptr;
}

// All have writer_memory together; of what is left of it each may take half.
bool FramePusher::has_room(Writer& writer) {
  Writer::Figures all;
  for (const auto& [dataset, other] : writers_) add(other->figures(), &all);
  return all.memory_bytes + writer.figures().memory_bytes < keys_.writer_memory_bytes;
}

void FramePusher::push(std::uint32_t dataset, FrameSeq seq) {
  auto open = [&config = config_.datasets[dataset], seq] {
    char name[kMaxTemplate + 32];
    return find_named(config, {name, config.name.format(seq, name, sizeof name)}, kToRead);
  };
  std::lock_guard lock(mutex_);
  Writer* writer = writer_of(dataset);
  const std::string& path = config_.datasets[dataset].path;
  if (writer != nullptr && (writer->will_read(path, seq) || has_room(*writer)) &&
      writer->write_file(path, seq, open))
    return;
  ++ended_.queued;
  ++ended_.dropped;
}

void FramePusher::renew(const Config& next) {
  std::lock_guard lock(mutex_);
  keys_ = next;
  keys_.runtime = config_.runtime;  // which no reload changes
  failed_ = false;
  const Result<Credentials> credentials = key_ring_->credentials();
  const bool same = settings_ && credentials && credentials->key == key_ &&
                    same_peers(*settings_, writer_settings(keys_, key_ring_));
  if (!same) settings_.reset();
  std::erase_if(writers_, [&](auto& entry) {
    const DatasetConfig& dataset = config_.datasets[entry.first];
    if (same && dataset.push && !dataset.removed) return false;
    retired_.push_back({std::move(entry.second), Clock::now(), {}});
    return true;
  });
  end_retired();
}

// Who holds the lock may wait for a key, and the caller waits for nobody.
void FramePusher::tick() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) end_retired();
}

void FramePusher::end_retired() {
  std::erase_if(retired_, [this](Retired& retired) { return has_ended(retired); });
}

// What is answered while its threads leave counts as pushed.
bool FramePusher::has_ended(Retired& retired) {
  Writer& writer = *retired.writer;
  const Clock::time_point now = Clock::now();
  if (!retired.closed_at) {
    for (std::size_t i = 0; auto node = writer.node_figures(i); ++i) {
      if (node->answers) retired.answered_at = now;
    }
    if (writer.figures().waiting > 0 && now - retired.answered_at < retired_limit_)
      return false;
    retired.closed_at = now;
  }
  if (!writer.close(0, 0)) {
    if (now - *retired.closed_at < kLeave) return false;
    one_hangs_ = true;
  }
  Writer::Figures figures = writer.figures();
  const std::uint64_t left = std::exchange(figures.waiting, 0);
  if (left > 0) {
    log_line(LogLevel::kWarn, "frames_not_pushed",
             {{"waiting", std::to_string(left)},
              {"why", "the nodes of before the reload do not answer"},
              {"what", "the origin has them"},
              {"hint", "zazenctl push DATASET"}});
  }
  figures.dropped += left;
  figures.memory_bytes = 0;
  add(figures, &ended_);
  return true;
}

Writer::Figures FramePusher::figures() {
  std::lock_guard lock(mutex_);
  end_retired();
  Writer::Figures sum = ended_;
  for (const Retired& retired : retired_) add(retired.writer->figures(), &sum);
  for (const auto& [dataset, writer] : writers_) add(writer->figures(), &sum);
  return sum;
}

// Whether a node answers is said by the writer that asked it last.
std::vector<Writer::NodeFigures> FramePusher::nodes() {
  std::lock_guard lock(mutex_);
  std::vector<Writer::NodeFigures> nodes;
  for (const auto& [dataset, writer] : writers_) {
    for (std::size_t i = 0; std::optional<Writer::NodeFigures> node = writer->node_figures(i);
         ++i) {
      if (i == nodes.size()) {
        nodes.push_back(std::move(*node));
        continue;
      }
      Writer::NodeFigures& sum = nodes[i];
      sum.pushed += node->pushed;
      sum.bytes += node->bytes;
      if (node->known_at < sum.known_at) continue;
      sum.answers = node->answers;
      sum.failure = node->failure;
      sum.known_at = node->known_at;
    }
  }
  return nodes;
}

bool FramePusher::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  for (auto& [dataset, writer] : writers_) {
    retired_.push_back({std::move(writer), Clock::now(), {}});
  }
  writers_.clear();
  for (const Retired& retired : retired_) retired.writer->close(0, 0);
  const Clock::time_point deadline = Clock::now() + kLeave;
  bool ended = !one_hangs_;
  for (const Retired& retired : retired_) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ended = retired.writer->close(0, std::max(0, static_cast<int>(left.count()))) && ended;
  }
  return ended;
}

}  // namespace zazen
