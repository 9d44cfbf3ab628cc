#include "bodhi/frame_reader.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>

#include "bodhi/client.h"
#include "bodhi/identity.h"
#include "bodhi/raw_call.h"
#include "bodhi/seqlog.h"
#include "bodhi/table.h"
#include "bodhi/wire.h"

namespace zazen {

// What the node's daemon has published, and what this process has found out about it.
class NodeMap {
 public:
  struct Trust {
    std::atomic<std::int64_t> looked_at_ms{0};  // 0: never
    std::atomic<bool> distrusted{false};
  };

  static std::shared_ptr<NodeMap> map(const std::string& runtime) {
    const Table* mapped = map_table(runtime.c_str());
    if (mapped == nullptr) return nullptr;
    return std::shared_ptr<NodeMap>(new NodeMap(mapped, map_counters(runtime.c_str())));
  }
  ~NodeMap() {
    unmap_table(&table);
    if (counters != nullptr) raw_unmap(counters, sizeof *counters);
  }
  NodeMap(const NodeMap&) = delete;
  NodeMap& operator=(const NodeMap&) = delete;

  const TableDataset* find(const std::string& path) const {
    for (std::uint32_t i = 0; i < table.dataset_count; ++i) {
      const TableDataset& entry = table.datasets[i];
      if (path == entry.path && entry.removed == 0) return &entry;
    }
    return nullptr;
  }
  std::size_t index_of(const TableDataset& dataset) const {
    return static_cast<std::size_t>(&dataset - table.datasets);
  }

  const Table& table;
  Counters* const counters;  // may be null
  std::vector<Trust> trust;  // by dataset

 private:
  NodeMap(const Table* mapped, Counters* mapped_counters)
      : table(*mapped), counters(mapped_counters), trust(mapped->dataset_count) {}
};

namespace {

constexpr std::int64_t kSampleAgeMs = 5'000;
constexpr std::int64_t kTrustMs = 30'000;
constexpr int kSendMs = 5;
constexpr int kAnswerMs = 250;
constexpr int kFillMs = 60'000;  // for fill = "wait"

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Error complete(int code, const std::string& subject) {
  return Error{code, subject + ": " + std::strerror(code), {}};
}

Error unknown_dataset(const std::string& path) {
  return Error{ENOENT, path + ": no dataset has this path", {}};
}

bool parse_name(const TableDataset& dataset, FrameName* name) {
  const char* why = "";
  return FrameName::parse(dataset.frames, ::strnlen(dataset.frames, sizeof dataset.frames),
                          name, &why);
}

// One frame of a dataset that a daemon serves.
class ServedFrame {
 public:
  ServedFrame(const std::string& runtime, NodeMap& node, const TableDataset& dataset,
              std::string name)
      : runtime_(runtime),
        node_(node),
        dataset_(dataset),
        trust_(node.trust[node.index_of(dataset)]),
        name_(std::move(name)),
        origin_(std::string(dataset.path) + "/" + name_) {}

  const std::string& origin() const { return origin_; }

  UniqueFd open_copy() {
    UniqueFd fd = open_file();
    if (!fd.valid() || !is_trusted(fd.get())) return {};
    if (node_.table.orders_reads != 0 && needs_the_disk(fd.get())) {
      ask(MessageType::kReadIn, 0, -1, kReadInMs);
    }
    count(&DatasetCounters::hits);
    return fd;
  }

  // The origin's, or by now the copy's (fill = "wait").
  UniqueFd fill_from(UniqueFd origin) {
    count(&DatasetCounters::misses);
    if (open_file().valid()) return origin;
    // Not the program's own open file: a lock on it, or its flags, would live on in the daemon.
    std::string link = "/proc/self/fd/" + std::to_string(origin.get());
    RawFd passed(raw_open(link.c_str(), O_RDONLY));
    if (!passed.valid()) return origin;
    bool waits = dataset_.fill == Fill::kWait;
    int answer = ask(MessageType::kFill, 0, passed.get(), waits ? kFillMs : 0);
    if (!waits || answer != 0) return origin;
    UniqueFd copy = open_file();
    return copy.valid() ? std::move(copy) : std::move(origin);
  }

 private:
  UniqueFd open_file() const {
    char path[2 * kMaxPath + kMaxTemplate + 32];
    if (copy_path(node_.table, dataset_, name_.c_str(), path, sizeof path) == 0) return {};
    return UniqueFd(std::max(raw_open(path, O_RDONLY | O_NOFOLLOW), -1));
  }

  bool is_trusted(int fd) {
    bool check = dataset_.validate == Validate::kAlways ||
                 dataset_.check_each_open.load(std::memory_order_relaxed) != 0 ||
                 dataset_.young_copies.load(std::memory_order_acquire) != 0 ||
                 trust_.distrusted.load(std::memory_order_relaxed);
    std::int64_t now_ms = monotonic_ms();
    std::int64_t looked_ms = trust_.looked_at_ms.load(std::memory_order_acquire);
    bool first = looked_ms == 0 || now_ms - looked_ms >= kTrustMs;
    if (first) {
      // Whoever may not reach the origin gets no copy.
      struct stat st;
      std::string inside = std::string(dataset_.path) + "/.";
      if (raw_call(SYS_newfstatat, AT_FDCWD, inside.c_str(), &st, 0) != 0) return false;
    }
    if (first && dataset_.validate == Validate::kSample) {
      check = true;
      std::int64_t sampled_ms = dataset_.sampled_at_ms.load(std::memory_order_relaxed);
      bool sampled = sampled_ms != 0 && now_ms - sampled_ms < kSampleAgeMs;
      if (!sampled) trust_.distrusted.store(ask(MessageType::kSample, 0, -1, kAnswerMs) != 0);
    }
    if (check && !is_as_origin(fd)) {
      trust_.distrusted.store(true);
      ask(MessageType::kInvalidate, kFoundStale, -1, kAnswerMs);
      return false;
    }
    if (first) trust_.looked_at_ms.store(now_ms, std::memory_order_release);
    return true;
  }

  bool is_as_origin(int fd) const {
    OriginIdentity identity;
    struct stat st;
    return read_identity(fd, &identity) == 0 &&
           raw_call(SYS_newfstatat, AT_FDCWD, origin_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           same_file(identity, st);
  }

  // Only EAGAIN says so.
  static bool needs_the_disk(int fd) {
    char byte;
    struct iovec part = {&byte, 1};
    return raw_call(SYS_preadv2, fd, &part, 1, 0, 0, RWF_NOWAIT) == -EAGAIN;
  }

  // 0, the answer's errno, or a negative errno: no answer. Without a limit nobody waits for
  // one; with one, as long as the daemon's heart beats.
  int ask(MessageType type, std::uint32_t flags, int passed_fd, int limit_ms) const {
    char packet[kMaxMessage];
    if (limit_ms > 0) flags |= kWaitForIt;
    const char* name = type == MessageType::kSample ? "" : name_.c_str();
    std::size_t size =
        encode_frame_message(type, 1, flags, dataset_.path, name, packet, sizeof packet);
    if (size == 0) return -EMSGSIZE;
    RawFd socket(connect_daemon(runtime_.c_str(), limit_ms > 0 ? kAnswerMs : kSendMs));
    if (!socket.valid()) return socket.get();
    int sent = send_message(socket.get(), packet, size, passed_fd, kSendMs);
    if (sent < 0 || limit_ms == 0) return sent;
    const std::int64_t deadline_ms = monotonic_ms() + limit_ms;
    for (;;) {
      int received_fd = -1;
      int got = receive_message(socket.get(), packet, sizeof packet, &received_fd, kAnswerMs);
      RawFd received(received_fd);
      if (got == -ETIMEDOUT) {
        std::int64_t now_ms = monotonic_ms();
        std::int64_t beat_ms = node_.table.heartbeat_ms.load(std::memory_order_relaxed);
        if (now_ms >= deadline_ms || now_ms - beat_ms > kMissedBeatsMs) return got;
        continue;
      }
      if (got <= 0) return got == 0 ? -ECONNRESET : got;
      MessageHeader header;
      if (!message_is_valid(packet, static_cast<std::size_t>(got))) return -EPROTO;
      std::memcpy(&header, packet, sizeof header);
      return header.status;
    }
  }

  void count(std::atomic<std::uint64_t> DatasetCounters::*which) {
    if (node_.counters == nullptr) return;
    (node_.counters->datasets[node_.index_of(dataset_)].*which)
        .fetch_add(1, std::memory_order_relaxed);
  }

  const std::string& runtime_;
  NodeMap& node_;
  const TableDataset& dataset_;
  NodeMap::Trust& trust_;
  const std::string name_;
  const std::string origin_;
};

Result<std::string> format_name(const FrameName& name, const std::string& dataset,
                                FrameSeq seq) {
  char text[kMaxTemplate + 32];
  std::size_t length = name.format(seq, text, sizeof text);
  if (length == 0) return complete(ENAMETOOLONG, dataset + ": frame " + std::to_string(seq));
  return std::string(text, length);
}

Result<UniqueFd> open_origin(const std::string& path) {
  UniqueFd fd(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (!fd.valid()) {
    int code = -fd.release();
    return complete(code, path);
  }
  struct stat st;
  if (raw_fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return Error{EINVAL, path + ": not a regular file", {}};
  }
  return fd;
}

}  // namespace

FrameReader::FrameReader(std::string runtime, std::string config_file)
    : runtime_(std::move(runtime)), config_file_(std::move(config_file)) {}

FrameReader::~FrameReader() = default;

std::shared_ptr<NodeMap> FrameReader::node() {
  std::lock_guard lock(mutex_);
  const std::int64_t now_ms = monotonic_ms();
  if (!node_ || !daemon_is_alive(node_->table, now_ms)) node_ = NodeMap::map(runtime_);
  if (!node_ || !daemon_is_alive(node_->table, now_ms)) return nullptr;
  return node_;
}

Result<FrameName> FrameReader::name_without_node(const std::string& dataset) {
  std::lock_guard lock(mutex_);
  if (datasets_.empty()) {
    Result<WriterSettings> settings = writer_settings(config_file_, runtime_);
    if (!settings) return settings.error();
    datasets_ = std::move(settings->datasets);
  }
  for (const WriterSettings::Dataset& known : datasets_) {
    if (known.path == dataset) return known.name;
  }
  return unknown_dataset(dataset);
}

Result<UniqueFd> FrameReader::open(const std::string& dataset, FrameSeq seq) {
  const std::string path = without_slashes(dataset);
  std::shared_ptr<NodeMap> map = node();
  const TableDataset* entry = map ? map->find(path) : nullptr;
  FrameName name;
  if (entry == nullptr || !parse_name(*entry, &name)) {
    Result<FrameName> known = name_without_node(path);
    if (!known) return known.error();
    Result<std::string> text = format_name(*known, path, seq);
    if (!text) return text.error();
    return open_origin(path + "/" + *text);
  }
  Result<std::string> text = format_name(name, path, seq);
  if (!text) return text.error();
  ServedFrame frame(runtime_, *map, *entry, std::move(*text));
  if (UniqueFd copy = frame.open_copy(); copy.valid()) return copy;
  Result<UniqueFd> origin = open_origin(frame.origin());
  if (!origin) return origin;
  return frame.fill_from(std::move(*origin));
}

Result<std::vector<FrameSeq>> FrameReader::held(const std::string& dataset, bool natives,
                                                bool aliens, FrameRange range) {
  const std::string path = without_slashes(dataset);
  std::shared_ptr<NodeMap> map = node();
  if (!map) return std::vector<FrameSeq>{};
  if (map->find(path) == nullptr) return unknown_dataset(path);
  FrameSet held;
  const std::string directory = map->table.cache + path + "/";
  for (auto [wanted, log] : {std::pair(natives, kNativeLog), std::pair(aliens, kAlienLog)}) {
    if (!wanted) continue;
    Result<FrameSet> frames = read_sequence_log(directory + log);
    if (!frames) return complete(frames.error().code, directory + log);
    held = set_union(held, *frames);
  }
  const std::vector<FrameSeq>& all = held.frames();
  auto begin = std::lower_bound(all.begin(), all.end(), range.first);
  auto end = std::upper_bound(begin, all.end(), range.last);
  return std::vector<FrameSeq>(begin, end);
}

}  // namespace zazen
