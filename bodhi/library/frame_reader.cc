#include "bodhi/library/frame_reader.h"

#include <algorithm>

#include "bodhi/lean/system/raw_call.h"
#include "bodhi/library/frame_list.h"
#include "bodhi/node/client.h"
#include "bodhi/node/seqlog.h"

namespace zazen {

// The table that the node's daemon has published, and this process's trust in its copies.
class NodeMap {
 public:
  static std::shared_ptr<NodeMap> map(const std::string& runtime, const NodeMap* old) {
    const Table* mapped = map_table(runtime.c_str());
    if (mapped == nullptr) return nullptr;
    std::shared_ptr<NodeMap> node(new NodeMap(mapped, map_counters(runtime.c_str())));
    if (old != nullptr && old->table.instance == mapped->instance) {
      for (std::size_t i = 0; i < std::min(old->trust.size(), node->trust.size()); ++i) {
        node->trust[i].take_over(old->trust[i]);
      }
    }
    return node;
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

  void count(std::size_t dataset, std::atomic<std::uint64_t> DatasetCounters::*which) {
    if (counters != nullptr) (counters->datasets[dataset].*which) += 1;
  }

  const Table& table;
  Counters* const counters;      // may be null
  std::vector<CopyTrust> trust;  // by dataset

 private:
  NodeMap(const Table* mapped, Counters* mapped_counters)
      : table(*mapped), counters(mapped_counters), trust(mapped->dataset_count) {}
};

namespace {

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
    : runtime_(std::move(runtime)),
      config_file_(std::move(config_file)),
      daemon_{runtime_.c_str(), ask_daemon} {}

FrameReader::~FrameReader() = default;

std::shared_ptr<NodeMap> FrameReader::node() {
  std::lock_guard lock(mutex_);
  const std::int64_t now_ms = monotonic_ms();
  if (!node_ || !daemon_is_alive(node_->table, now_ms))
    node_ = NodeMap::map(runtime_, node_.get());
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

Result<FrameName> FrameReader::name_of(const std::string& dataset) {
  const std::string path = without_slashes(dataset);
  std::shared_ptr<NodeMap> map = node();
  const TableDataset* entry = map ? map->find(path) : nullptr;
  FrameName name;
  if (entry != nullptr && parse_name(*entry, &name)) return name;
  return name_without_node(path);
}

Result<UniqueFd> FrameReader::open(const std::string& dataset, FrameSeq seq) {
  const std::string path = without_slashes(dataset);
  std::shared_ptr<NodeMap> map = node();
  const TableDataset* entry = map ? map->find(path) : nullptr;
  FrameName name;
  if (entry == nullptr || !parse_name(*entry, &name)) {
    Result<FrameName> known = name_without_node(path);
    if (!known) return known.error();
    name = *known;
    entry = nullptr;
  }
  Result<std::string> text = format_name(name, path, seq);
  if (!text) return text.error();
  if (entry == nullptr) return open_origin(path + "/" + *text);
  const std::size_t index = map->index_of(*entry);
  const std::string copy_path = map->table.cache + path + "/" + *text;
  LocalCopy copy{daemon_,           map->table,        *entry,         name,
                 map->trust[index], copy_path.c_str(), monotonic_ms(), /*is_alive=*/true};
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  if (UniqueFd fd(open_local_copy(copy, kFlags)); fd.valid()) {
    map->count(index, &DatasetCounters::hits);
    return fd;
  }
  Result<UniqueFd> origin = open_origin(copy.origin());
  if (!origin) return origin;
  map->count(index, &DatasetCounters::misses);
  bool waits = entry->fill == Fill::kWait;
  const bool announces = !waits && map->counters != nullptr;
  if (copy.is_there() ||
      (announces && announce_miss(map->counters->news, static_cast<std::uint32_t>(index), seq,
                                  origin->get()))) {
    return origin;
  }
  if (!request_fill(copy, origin->get(), waits) || !waits) return origin;
  UniqueFd filled(open_filled_copy(copy.path, kFlags, origin->get()));
  return filled.valid() ? std::move(filled) : std::move(*origin);
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
