#include "tests/fault/recovered_store.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/listing.h"
#include "bodhi/node/seqlog.h"
#include "daemon/process/node_identity.h"
#include "daemon/store/store.h"

namespace zazen {
namespace {

// The daemon does it in the background.
bool reconcile_all(Store& store) {
  for (std::uint32_t i = 0; i < store.datasets(); ++i) store.reconcile(i);
  return store.is_reconciled();
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Check {
 public:
  Check(const Config& config, const OriginHistory& origin, const Promises& promises,
        const Store& store)
      : config_(config), origin_(origin), promises_(promises), store_(store) {}

  std::vector<std::string> run() {
    for (std::uint32_t dataset = 0; dataset < OriginHistory::kDatasets; ++dataset) {
      std::vector<FrameSeq> natives, aliens;
      for (const StoredFrame& frame : store_.list(dataset)) {
        look_at(frame);
        (frame.held.kind == FrameKind::kNative ? natives : aliens).push_back(frame.seq);
      }
      compare_log(dataset, kNativeLog, natives);
      compare_log(dataset, kAlienLog, aliens);
      look_at_listing(dataset);
    }
    for (const auto& [frame, version] : promises_.stored()) look_for(frame, version);
    look_for_left_overs();
    return std::move(wrong_);
  }

 private:
  std::string path_of(std::uint32_t dataset, const std::string& below) const {
    return config_.cache + config_.datasets[dataset].path + "/" + below;
  }
  void complain(std::uint32_t dataset, FrameSeq seq, const std::string& what) {
    wrong_.push_back(fmt::format("dataset {} frame {}: {}", dataset, seq, what));
  }

  // Which version is it, by its bytes and by its identity? Both must say the same.
  void look_at(const StoredFrame& frame) {
    const bool waits = store_.is_waiting(frame.dataset, frame.seq);
    const bool is_suspended = store_.is_suspended(frame.dataset, frame.seq);
    const std::string name = origin_.name_of(frame.dataset, frame.seq);
    std::string path =
        waits          ? path_of(frame.dataset, ".zazen/waiting/" + std::to_string(frame.seq))
        : is_suspended ? config_.cache + "/.zazen/suspended" +
                             config_.datasets[frame.dataset].path + "/" + name
                       : path_of(frame.dataset, name);
    known_.insert(path);
    struct stat st = {};
    OriginIdentity identity = {};
    if (::lstat(path.c_str(), &st) != 0) {
      return complain(frame.dataset, frame.seq, "reported, and its file is not there");
    }
    if (st.st_mode != (S_IFREG | kCopyMode)) {
      complain(frame.dataset, frame.seq, fmt::format("has mode {:o}", st.st_mode));
    }
    if (int code = read_identity_at(path.c_str(), &identity); code != 0) {
      return complain(frame.dataset, frame.seq, "reported, and has no identity");
    }
    // The other way round it is a push that was cut short and never acknowledged.
    if (identity.kind == FrameKind::kAlien && frame.held.kind == FrameKind::kNative) {
      complain(frame.dataset, frame.seq, "is an alien and is taken for a native");
    }
    std::string bytes = read_whole(path);
    if (bytes.size() != frame.held.bytes) {
      complain(frame.dataset, frame.seq, "has another size than reported");
    }
    const auto& versions = origin_.versions(frame.dataset, frame.seq);
    for (std::size_t i = versions.size(); i-- > 0;) {
      bool same = waits ? bytes == versions[i].bytes : same_file(identity, versions[i].origin);
      if (!same) continue;
      if (bytes != versions[i].bytes) {
        complain(frame.dataset, frame.seq, fmt::format("version {} is not whole", i));
      }
      if (i < promises_.oldest_allowed({frame.dataset, frame.seq})) {
        complain(frame.dataset, frame.seq, fmt::format("version {} was invalidated", i));
      }
      held_[{frame.dataset, frame.seq}] = {i, frame.held.kind};
      return;
    }
    complain(frame.dataset, frame.seq, "its identity is nobody's");
  }

  void compare_log(std::uint32_t dataset, const char* name, const std::vector<FrameSeq>& held) {
    Result<FrameSet> logged = read_sequence_log(path_of(dataset, name));
    if (!logged.ok() || logged->frames() != held) {
      wrong_.push_back(
          fmt::format("dataset {}: {} does not agree with the files", dataset, name));
    }
  }

  void look_at_listing(std::uint32_t dataset) {
    std::string path = path_of(dataset, kListingFile);
    if (!std::filesystem::exists(path)) return;
    if (!decode_listing(read_whole(path)).ok()) {
      wrong_.push_back(fmt::format("dataset {}: the listing is damaged", dataset));
    }
  }

  void look_for(const Promises::Frame& frame, std::size_t version) {
    auto held = held_.find(frame);
    // A waiting frame has no identity yet, and two versions may have the same bytes.
    const auto& versions = origin_.versions(frame.first, frame.second);
    auto is_it = [&](std::size_t found) {
      return found == version || (store_.is_waiting(frame.first, frame.second) &&
                                  versions[found].bytes == versions[version].bytes);
    };
    if (held == held_.end() || !is_it(held->second.first)) {
      complain(frame.first, frame.second,
               fmt::format("version {} was pushed and is lost", version));
    } else if (held->second.second != FrameKind::kNative) {
      complain(frame.first, frame.second, "was pushed and is no native");
    }
  }

  // Each file that is not a reported copy has to be on this list.
  void look_for_left_overs() {
    known_.insert({config_.cache + "/.zazen/node-id", config_.cache + "/.zazen/lock"});
    for (std::uint32_t dataset = 0; dataset < OriginHistory::kDatasets; ++dataset) {
      for (const char* name :
           {kNativeLog, kAlienLog, kListingFile, ".zazen/native.table", ".zazen/alien.table"}) {
        known_.insert(path_of(dataset, name));
      }
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(config_.cache)) {
      if (entry.is_directory() || known_.contains(entry.path())) continue;
      wrong_.push_back("left over: " + entry.path().string().substr(config_.cache.size()));
    }
  }

  const Config& config_;
  const OriginHistory& origin_;
  const Promises& promises_;
  const Store& store_;
  std::set<std::string> known_;
  std::map<Promises::Frame, std::pair<std::size_t, FrameKind>> held_;
  std::vector<std::string> wrong_;
};

}  // namespace

void Promises::hear(const Word& word) {
  Frame frame{word.dataset, word.seq};
  switch (word.meaning) {
    case Word::Meaning::kPushed:
      stored_[frame] = word.version;
      break;
    case Word::Meaning::kChanging:
      stored_.erase(frame);
      break;
    case Word::Meaning::kInvalidated:
      oldest_[frame] = word.version;
      break;
    case Word::Meaning::kEvicting:
      std::erase_if(stored_, [&](const auto& one) { return one.first.first == word.dataset; });
      break;
  }
}

std::size_t Promises::oldest_allowed(const Frame& frame) const {
  auto it = oldest_.find(frame);
  return it == oldest_.end() ? 0 : it->second;
}

std::vector<std::string> recover_and_check(const Config& config, const OriginHistory& origin,
                                           const Promises& promises,
                                           CacheDisk::Temporaries temporaries) {
  Result<CacheDisk> disk = CacheDisk::open(config.cache, temporaries);
  if (!disk.ok()) return {"the cache does not open: " + disk.error().context};
  if (Result<NodeId> node = load_or_make_node_id(disk->state_fd()); !node.ok()) {
    return {node.error().context};
  }
  Result<std::unique_ptr<Store>> store = Store::open(config, std::move(*disk));
  if (!store.ok()) return {"the store does not open: " + store.error().context};
  if (!reconcile_all(**store)) return {"the store is not reconciled"};
  return Check(config, origin, promises, **store).run();
}

}  // namespace zazen
