// Requests of two workers to the store, in any order: the input is a list of steps. No worker
// can take away for good what is not its own. When both are gone, nothing is under way and no
// room is reserved. The store holds the files that are there, each with its identity.
//
// The steps' messages have plausible values and the worst ones, from short tables.
#include <fcntl.h>
#include <sys/stat.h>

#include <deque>
#include <future>
#include <optional>

#include "daemon/origin/adoption.h"
#include "daemon/service/store_cache.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kCapacity = 64 << 10;
constexpr std::uint8_t kWorkers = 2, kFrames = 3, kMostSteps = 64;
constexpr FrameKind kKinds[] = {FrameKind::kAlien, FrameKind::kNative, FrameKind{0},
                                FrameKind{77}};
constexpr std::int64_t kSizes[] = {7, 4096, 20'000, 0, 1, 1 << 30, kMost, -1, kLeast};
constexpr std::int64_t kBlocks[] = {8, 64, 0, 1, kMost, -1, 1LL << 55};
constexpr std::int64_t kSeconds[] = {1'700'000'000, 0, -1, kMost, kLeast};
constexpr std::int64_t kNanoseconds[] = {0,         999'999'999, 1'000'000'000, -1,
                                         UTIME_NOW, UTIME_OMIT,  kMost};
constexpr mode_t kModes[] = {S_IFREG | 0644, S_IFREG | 0600, S_IFDIR | 0755, 0, ~mode_t{0}};
constexpr uid_t kOwners[] = {0, 1000, 65'534, ~uid_t{0}};
constexpr std::uint64_t kRooms[] = {
    0, 7, 4096, kCapacity, std::uint64_t(kMost), ~std::uint64_t{0}};
constexpr int kStatuses[] = {0, ENOENT, ESTALE, EINPROGRESS, -1, -2, 100'000};

class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : rest_(as_text(data, size)) {}

  bool is_over() const { return rest_.empty(); }
  std::uint8_t next() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  bool flag() { return next() % 2 == 1; }
  template <class T, std::size_t kSize>
  T one_of(const T (&table)[kSize]) {
    return table[next() % kSize];
  }

 private:
  std::string_view rest_;
};

// A directory where copies can be kept: old tmpfs have no user attributes.
const ScratchDirectory& scratch() {
  static const std::unique_ptr<ScratchDirectory> place = [] {
    auto made = std::make_unique<ScratchDirectory>();
    if (!CacheDisk::open(made->path()).ok()) made = std::make_unique<ScratchDirectory>(".");
    return made;
  }();
  return *place;
}

struct Begun {  // of a worker
  std::uint64_t worker, ticket;
  struct stat origin;
  UniqueFd file;
};

class Attack : public OriginChecks {
 public:
  explicit Attack(Script script) : script_(script) {
    const std::uint8_t how = script_.next();
    std::filesystem::remove_all(scratch().path());
    config_.node = "n0";
    config_.cache = scratch().path() + "/cache";
    config_.runtime = scratch().path() + "/run";
    config_.capacity_bytes = kCapacity;
    config_.all_users = how % 2 == 1;
    std::filesystem::create_directories(config_.cache);
    std::filesystem::create_directories(config_.runtime);
    DatasetConfig dataset;
    dataset.path = "/sim";
    dataset.frames = how / 2 % 2 == 1 ? "{seq}/a/b/frame" : "f{seq}";
    const char* why = "";
    demand(FrameName::parse(dataset.frames.data(), dataset.frames.size(), &dataset.name, &why));
    config_.datasets.push_back(dataset);
    Result<CacheDisk> disk = CacheDisk::open(config_.cache);
    demand(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    demand(store.ok());
    store_ = std::move(*store);
    store_->reconcile(0);
    cache_ = std::make_unique<StoreCache>(*store_, trust_, *this);
  }

  void run() {
    for (int i = 0; i < kMostSteps && !script_.is_over(); ++i) step();
    const std::uint64_t first = 1 + script_.next() % kWorkers;
    end(first);
    end(kWorkers + 1 - first);
    for (int i = 0; i < 2'000 && cache_->counts().under_way > 0; ++i) ::usleep(1'000);
    cache_->stop();
    check();
  }

 private:
  void step() {
    const std::uint8_t what = script_.next() % 15;
    const std::uint64_t worker = 1 + script_.next() % kWorkers;
    if (is_gone_[worker]) return;
    switch (what) {
      case 0:
      case 1:
        return begin(worker);
      case 2:
        return write();
      case 3:
        if (Begun* begun = choose()) begun->file.reset();
        return;
      case 4:
        (void)cache_->more_room(worker, ticket(), script_.one_of(kRooms));
        return;
      case 5:
      case 6:
        return finish(worker);
      case 7:
        return finish_content(worker);
      case 8:
        return finish_push(worker);
      case 9:
        return cache_->abandon_fill(worker, ticket(), script_.one_of(kStatuses));
      case 10:
        return adopt(worker);
      case 11:
        return change();
      case 12:
        rights_ = rights();
        return;
      case 13:
        if (script_.next() % 4 == 0) end(worker);
        return;
      case 14:
        begin_pushes(worker);
    }
  }

  void end(std::uint64_t worker) {
    if (!std::exchange(is_gone_[worker], true)) cache_->worker_gone(worker);
  }

  // ---- What a worker says

  FrameSeq frame() { return script_.next() % kFrames; }
  timespec time() { return {script_.one_of(kSeconds), script_.one_of(kNanoseconds)}; }
  struct stat origin() {
    struct stat st = {};
    st.st_ino = 1 + script_.next() % 3;
    st.st_mode = kModes[0];
    st.st_nlink = 1;
    st.st_size = script_.one_of(kSizes);
    st.st_blocks = script_.one_of(kBlocks);
    st.st_mtim = st.st_ctim = st.st_atim = {kSeconds[0], 0};
    if (script_.next() % 4 != 0) return st;
    st.st_mode = script_.one_of(kModes);
    st.st_uid = script_.one_of(kOwners);
    st.st_gid = script_.one_of(kOwners);
    st.st_atim = time();
    st.st_mtim = time();
    st.st_ctim = time();
    st.st_nlink = ~nlink_t{0};
    return st;
  }
  ReachedDirectories reached() {
    ReachedDirectories list(script_.next() % 6);
    for (ReachedDirectory& one : list) {
      if (script_.flag()) one.searchers = AccessList::everybody();
      if (script_.flag()) one.places.emplace_back(1, script_.next());
    }
    return list;
  }
  OriginFacts facts() {
    OriginFacts facts;
    facts.st = origin();
    if (!config_.all_users) return facts;
    facts.acl.kind = OriginAcl::Kind{script_.next() % 4};
    for (std::size_t left = script_.next() % 40; left > 0; --left) {
      facts.acl.value += static_cast<char>(script_.next());
    }
    if (script_.flag() && rights_) facts.reached = rights_->directories;
    for (const ReachedDirectory& one : reached()) facts.reached.push_back(one);
    return facts;
  }
  OriginLook look() {
    OriginLook look;
    look.status = script_.one_of(kStatuses);
    look.is_there = script_.flag();
    look.origin = facts();
    return look;
  }
  std::optional<RightsAtOrigin> rights() {
    if (script_.flag()) return std::nullopt;
    RightsAtOrigin rights;
    rights.directories = reached();
    if (script_.flag()) rights.listers = AccessList::everybody();
    if (script_.flag()) rights.frame_directory = FrameDirectory{1, script_.next(), 0, 0, 0};
    rights.is_empty = script_.flag();
    return rights;
  }

  // One of those that were begun; mostly the last one.
  Begun* choose() {
    std::lock_guard lock(mutex_);
    if (begun_.empty()) return nullptr;
    return &begun_[begun_.size() - 1 - script_.next() % begun_.size()];
  }
  std::uint64_t ticket() {
    const Begun* begun = choose();
    return begun == nullptr || script_.next() % 16 == 0 ? script_.next() : begun->ticket;
  }

  // ---- What it does

  void begin(std::uint64_t worker) {
    BeginFill offer;
    offer.dataset = 0;
    offer.seq = frame();
    const std::uint8_t flags = script_.next();
    offer.kind = kKinds[flags % 4 == 3 ? script_.next() % 4 : flags % 2];
    offer.is_idle = (flags & 4) != 0;
    offer.is_content = (flags & 8) != 0;
    offer.waits = (flags & 16) != 0;
    offer.replaces = (flags & 32) != 0;
    offer.origin = facts();
    auto answers = std::make_shared<std::atomic<int>>(0);
    cache_->begin_fill(worker, offer, [=, this](int status, BeginFill::Reply reply) {
      demand(++*answers == 1);
      demand((status == 0 && reply.ticket != 0) == reply.file.valid());
      if (!reply.file.valid()) return;
      std::lock_guard lock(mutex_);
      begun_.push_back({worker, reply.ticket, offer.origin.st, std::move(reply.file)});
    });
  }

  void begin_pushes(std::uint64_t worker) {
    BeginPushes wanted;
    wanted.dataset = 0;
    wanted.bytes = static_cast<std::uint64_t>(script_.one_of(kSizes));
    wanted.count = script_.next() % (BeginPushes::kMost + 2);
    BeginPushes::Reply reply;
    const int status = cache_->begin_pushes(worker, wanted, &reply);
    demand(reply.tickets.size() == reply.files.size() && reply.files.size() <= wanted.count);
    demand(status == 0 || reply.files.empty());
    struct stat content = {};
    content.st_size = static_cast<off_t>(wanted.bytes);
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < reply.files.size(); ++i) {
      begun_.push_back({worker, reply.tickets[i], content, std::move(reply.files[i])});
    }
  }

  void write() {
    Begun* begun = choose();
    if (begun == nullptr || !begun->file.valid()) return;
    constexpr std::int64_t kLongest = 32 << 10;
    const bool is_right = script_.next() % 4 != 0;
    const std::int64_t size = is_right ? begun->origin.st_size : script_.next();
    const std::string content(
        static_cast<std::size_t>(std::clamp<std::int64_t>(size, 0, kLongest)), 'x');
    (void)!::pwrite(begun->file.get(), content.data(), content.size(), 0);
  }

  template <class Ask>
  static void await(Ask ask) {
    std::promise<int> answer;
    ask([&](int status) { answer.set_value(status); });
    demand(answer.get_future().get() >= 0);
  }

  void finish(std::uint64_t worker) {
    FinishFill finish;
    Begun* begun = choose();
    if (begun != nullptr && script_.next() % 8 != 0) begun->file.reset();
    finish.ticket = begun != nullptr ? begun->ticket : script_.next();
    finish.room = script_.one_of(kRooms);
    finish.after = begun != nullptr && script_.next() % 4 != 0 ? begun->origin : origin();
    if (script_.next() % 8 == 0) finish.after.st_mode = script_.one_of(kModes);
    verdict_ = script_.next() % 4 == 0 ? ESTALE : 0;
    await([&](auto done) { cache_->finish_fill(worker, finish, done); });
  }

  void finish_content(std::uint64_t worker) {
    FinishContent finish;
    Begun* begun = choose();
    if (begun != nullptr && script_.next() % 8 != 0) begun->file.reset();
    finish.ticket = begun != nullptr ? begun->ticket : script_.next();
    finish.bytes = static_cast<std::uint64_t>(begun != nullptr ? begun->origin.st_size
                                                               : script_.one_of(kSizes));
    finish.room = script_.one_of(kRooms);
    finish.checksum = script_.next() % 2;
    finish.look = look();
    verdict_ = script_.next() % 4 == 0 ? ESTALE : 0;
    await([&](auto done) { cache_->finish_content(worker, finish, done); });
  }

  // As the service does it: `worker` listens for pushes, and another one looks.
  void finish_push(std::uint64_t worker) {
    PushedFile finish;
    Begun* begun = choose();
    if (begun != nullptr && script_.next() % 8 != 0) begun->file.reset();
    finish.ticket = begun != nullptr ? begun->ticket : script_.next();
    finish.seq = frame();
    finish.bytes = static_cast<std::uint64_t>(begun != nullptr ? begun->origin.st_size
                                                               : script_.one_of(kSizes));
    ReceivedContent pushed;
    if (cache_->finish_push(worker, 0, finish, &pushed) != 0) return;
    // It may wait for another fill, so nobody waits for its end here.
    cache_->take_received(kWorkers + 1, 0, finish.seq, std::move(pushed), look(), [](int) {});
  }

  void adopt(std::uint64_t worker) {
    Adopt adopt;
    adopt.dataset = 0;
    adopt.seq = frame();
    adopt.origin = facts();
    struct stat local = {};
    const UniqueFd copy = store_->open_copy(0, adopt.seq);
    if (script_.next() % 4 != 0 && copy.valid() && ::fstat(copy.get(), &local) == 0) {
      adopt.origin.st.st_size = local.st_size;
      adopt.pages = sample_pages(copy.get(), static_cast<std::uint64_t>(local.st_size));
    }
    verdict_ = script_.next() % 4 == 0 ? ESTALE : 0;
    (void)cache_->adopt(worker, adopt);
  }

  void change() {
    const FrameSeq seq = frame();
    const std::uint8_t how = script_.next() % 4;
    cache_->cancel(0, seq);
    if (how == 1) store_->drop(0, std::span(&seq, 1));
    if (how == 2) (void)store_->suspend(0, seq);
    if (how == 3) (void)store_->restore(0, seq, store_->epoch(0, seq));
  }

  void verify(std::uint64_t, std::span<FinishedCopy> batch) override {
    for (FinishedCopy& copy : batch) {
      if (copy.status == 0 && !copy.waits) copy.status = verdict_;
    }
  }
  void mirror(std::uint64_t, std::uint32_t, const ReachedDirectories&) override {
    store_->mirror_own_rights(0, store_->begin_look(0), rights_);
  }

  // ---- What must be so at the end

  std::uint64_t files() const {
    std::uint64_t count = 0;
    const std::string dataset = config_.cache + "/sim";
    const std::string suspended = config_.cache + "/.zazen/suspended";
    for (const std::string& place : {dataset, suspended}) {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(place, ignored)) {
        const std::string path = entry.path();
        const bool is_state = path.starts_with(dataset + "/.zazen/") &&
                              !path.starts_with(dataset + "/.zazen/waiting/");
        if (entry.is_regular_file() && !is_state) ++count;
      }
    }
    return count;
  }

  void check() {
    demand(cache_->counts().under_way == 0);
    cache_.reset();
    begun_.clear();
    const StoreUsage usage = store_->usage();
    std::uint64_t bytes = 0;
    for (const StoredFrame& frame : store_->list(0)) {
      struct stat local = {};
      OriginIdentity identity = {};
      const UniqueFd copy = store_->open_copy(0, frame.seq);
      demand(copy.valid() && ::fstat(copy.get(), &local) == 0);
      demand(read_identity(copy.get(), &identity) == 0);
      demand(identity.size == static_cast<std::uint64_t>(local.st_size));
      demand(identity.kind == frame.held.kind);
      demand(store_->is_waiting(0, frame.seq) ? identity.ino == 0 : S_ISREG(identity.mode));
      demand(frame.held.bytes >= room_of(local));
      demand(frame.held.bytes <= std::max<std::uint64_t>(identity.size, room_of(local)));
      bytes += frame.held.bytes;
    }
    demand(usage.bytes == bytes);
    demand(usage.files == files());
    demand(usage.files == usage.datasets[0].natives + usage.datasets[0].aliens);
    // All that is not held can be had, and nothing goes for it.
    if (bytes >= kCapacity) return;
    demand(store_->reserve(0, FrameKind::kAlien, kCapacity - bytes).valid());
    demand(store_->usage().evictions == usage.evictions);
  }

  Script script_;
  Config config_;
  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  std::unique_ptr<Store> store_;
  std::optional<RightsAtOrigin> rights_;
  std::atomic<int> verdict_ = 0;
  bool is_gone_[kWorkers + 1] = {};
  std::mutex mutex_;
  std::deque<Begun> begun_;
  std::unique_ptr<StoreCache> cache_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Attack(Script(data, size)).run();
  return 0;
}
