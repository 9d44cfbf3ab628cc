#include "tests/fault/store_workload.h"

#include <future>
#include <stdexcept>
#include <thread>

#include "bodhi/node/listing.h"
#include "daemon/process/node_identity.h"
#include "daemon/worker/fills/frame_copy.h"
#include "tests/fault/disk_recorder.h"

namespace zazen {
namespace {

using Meaning = Word::Meaning;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace

StoreWorkload::StoreWorkload(const Config& config, OriginHistory& origin,
                             std::mt19937_64& random, CacheDisk::Temporaries temporaries,
                             bool opens)
    : config_(config),
      origin_(origin),
      random_(random),
      temporaries_(temporaries),
      opens_(opens) {}

void StoreWorkload::start() {
  Result<CacheDisk> disk = CacheDisk::open(config_.cache, temporaries_);
  require(disk.ok(), "CacheDisk::open");
  require(load_or_make_node_id(disk->state_fd()).ok(), "load_or_make_node_id");
  Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
  require(store.ok(), "Store::open");
  store_ = std::move(*store);
  for (std::uint32_t i = 0; i < store_->datasets(); ++i) store_->reconcile(i);
  filler_ = std::make_unique<LocalFiller>(
      config_, *store_, trust_, 64, [] {}, 2);
}

void StoreWorkload::stop() {
  usage_ = store_->usage();
  filler_.reset();
  store_.reset();
}

void StoreWorkload::run(std::size_t steps) {
  start();
  for (std::size_t step = 0; step < steps; ++step) {
    auto dataset = static_cast<std::uint32_t>(random_() % OriginHistory::kDatasets);
    std::set<FrameSeq> few, many;
    for (int i = 0; i < 3; ++i) few.insert(random_() % OriginHistory::kFrames);
    while (many.size() <= Store::kSmallBatch) many.insert(random_() % OriginHistory::kFrames);
    switch (random_() % (opens_ ? 21 : 18)) {
      case 0:
      case 1:
      case 2:
      case 3:
        ask(FrameKind::kAlien, dataset, few);
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        ask(FrameKind::kNative, dataset, few);
        break;
      case 8:
        publish_together(FrameKind::kNative, dataset, many);
        break;
      case 9:
        publish_together(FrameKind::kAlien, dataset, many);
        break;
      case 10:
      case 11:
      case 12:
        rewrite(dataset, *few.begin());
        break;
      case 13:
        evict(dataset);
        break;
      case 14:
        keep_listing(dataset);
        break;
      case 15:
        stop();
        start();
        break;
      case 16:
        push_content(dataset, few);
        break;
      case 17:
        push_content(dataset, few);
        ask(FrameKind::kAlien, dataset, few);
        break;
      case 18:
        ask(FrameKind::kNative, dataset, few);
        open_for_writing(dataset, few);
        break;
      case 19:
      case 20:
        open_for_writing(dataset, many);
        break;
    }
  }
  stop();
}

void StoreWorkload::note_pushed(std::uint32_t dataset, FrameSeq seq) {
  disk_recorder::note({Meaning::kPushed, dataset, seq, origin_.newest(dataset, seq)});
}

void StoreWorkload::note_invalidated(std::uint32_t dataset, FrameSeq seq) {
  disk_recorder::note({Meaning::kInvalidated, dataset, seq, origin_.newest(dataset, seq)});
}

void StoreWorkload::ask(FrameKind kind, std::uint32_t dataset,
                        const std::set<FrameSeq>& frames) {
  struct Asked {
    std::future<int> answer;
    int expected;
  };
  std::vector<Asked> all;
  for (FrameSeq seq : frames) {
    auto answer = std::make_shared<std::promise<int>>();
    // A frame that is open for writing is not fetched.
    const bool is_open = kind == FrameKind::kAlien && store_->is_suspended(dataset, seq);
    all.push_back({answer->get_future(), is_open ? EBUSY : 0});
    FillRequest request;
    request.dataset = dataset;
    request.seq = seq;
    request.kind = kind;
    request.origin = origin_.open(dataset, seq);
    request.done = [this, answer, kind, dataset, seq](int status) {
      if (status == 0 && kind == FrameKind::kNative) note_pushed(dataset, seq);
      answer->set_value(status);
    };
    require(filler_->submit(request), "the queue is full");
  }
  for (Asked& asked : all) {
    int status = asked.answer.get();
    require(status == asked.expected || status == ENOSPC, "a fill or a push failed");
  }
}

// As the filler does for one; here they are certain to be one batch.
void StoreWorkload::publish_together(FrameKind kind, std::uint32_t dataset,
                                     const std::set<FrameSeq>& frames) {
  std::vector<FinishedCopy> batch;
  for (FrameSeq seq : frames) {
    if (store_->find(dataset, seq)) continue;
    UniqueFd origin = origin_.open(dataset, seq);
    const struct stat& st = origin_.versions(dataset, seq).back().origin;
    FinishedCopy finished;
    finished.dataset = dataset;
    finished.seq = seq;
    finished.kind = kind;
    finished.bytes = static_cast<std::uint64_t>(st.st_size);
    finished.reservation = store_->reserve(dataset, kind, finished.bytes);
    if (!finished.reservation.valid()) continue;
    finished.file = store_->make_temporary(dataset);
    FrameCopy copy(origin.get(), st, finished.file.fd());
    FillThrottle pace;
    TransferTerms terms{[] { return false; }, [] { return true; }, {}};
    require(finished.file.allocate(finished.bytes) == 0 && copy.transfer(pace, terms) == 0 &&
                finished.file.seal_content() == 0,
            "a copy failed");
    require(seal_copy(finished.file.fd(), identity_of(st, kind, copy.checksum()), st.st_atim,
                      st.st_mtim) == 0,
            "seal_copy");
    batch.push_back(std::move(finished));
  }
  store_->name_copies(batch);
  for (FinishedCopy& copy : batch) {
    if (copy.status != 0 || random_() % 8 != 0) continue;
    change(dataset, copy.seq);  // it is rewritten just when it gets its name
    copy.status = ESTALE;
  }
  store_->confirm_copies(batch);
  for (const FinishedCopy& finished : batch) {
    if (finished.status == ESTALE) {
      note_invalidated(dataset, finished.seq);
      continue;
    }
    require(finished.status == 0, "a batch failed");
    if (kind == FrameKind::kNative) note_pushed(dataset, finished.seq);
  }
}

void StoreWorkload::push_content(std::uint32_t dataset, const std::set<FrameSeq>& frames) {
  std::vector<FinishedCopy> batch;
  for (FrameSeq seq : frames) {
    if (store_->find(dataset, seq)) continue;
    const auto& version = origin_.versions(dataset, seq).back();
    FinishedCopy finished;
    finished.dataset = dataset;
    finished.seq = seq;
    finished.kind = FrameKind::kNative;
    finished.waits = true;
    finished.bytes = version.bytes.size();
    finished.reservation = store_->reserve(dataset, finished.kind, finished.bytes);
    if (!finished.reservation.valid()) continue;
    finished.file = store_->make_temporary(dataset);
    int fd = finished.file.fd();
    require(::pwrite(fd, version.bytes.data(), version.bytes.size(), 0) ==
                static_cast<ssize_t>(version.bytes.size()),
            "pwrite");
    require(seal_copy(fd, unknown_identity(finished.bytes, 0), {}, {}) == 0, "a copy failed");
    batch.push_back(std::move(finished));
  }
  store_->name_copies(batch);
  store_->confirm_copies(batch);
  for (const FinishedCopy& finished : batch) {
    require(finished.status == 0, "a push of content failed");
    note_pushed(dataset, finished.seq);
  }
}

void StoreWorkload::change(std::uint32_t dataset, FrameSeq seq) {
  disk_recorder::note({Meaning::kChanging, dataset, seq, origin_.newest(dataset, seq) + 1});
  origin_.rewrite(dataset, seq, random_);
}

void StoreWorkload::rewrite(std::uint32_t dataset, FrameSeq seq) {
  change(dataset, seq);
  filler_->cancel(dataset, seq);
  store_->drop(dataset, std::span(&seq, 1));
  note_invalidated(dataset, seq);
}

void StoreWorkload::open_for_writing(std::uint32_t dataset, const std::set<FrameSeq>& frames) {
  std::this_thread::sleep_for(std::chrono::milliseconds(25));  // the tick of the last write
  for (FrameSeq seq : frames) {
    int code = store_->suspend(dataset, seq);
    require(code == 0 || code == ENOENT || (code == EBUSY && store_->is_waiting(dataset, seq)),
            "a copy is not suspended");
  }
  if (random_() % 3 == 0) {
    stop();
    start();
  }
  for (FrameSeq seq : frames) {
    const std::uint64_t epoch = store_->epoch(dataset, seq);
    const auto end = random_() % 4;
    if (epoch == 0 || end == 0) continue;
    if (end == 1) {
      rewrite(dataset, seq);
    } else {
      require(store_->restore(dataset, seq, epoch) == 0, "a copy is not served again");
    }
  }
}

void StoreWorkload::evict(std::uint32_t dataset) {
  bool natives = random_() % 2 == 0;
  if (natives) disk_recorder::note({Meaning::kEvicting, dataset, 0, 0});
  FrameSeq first = random_() % OriginHistory::kFrames;
  store_->evict(dataset, {first, first + OriginHistory::kFrames / 2, natives, true, false});
  // The former natives come back as aliens.
  ask(FrameKind::kAlien, dataset, {first, (first + 1) % OriginHistory::kFrames});
}

void StoreWorkload::keep_listing(std::uint32_t dataset) {
  const DatasetConfig& config = config_.datasets[dataset];
  Result<Listing> listing =
      list_directory(frame_directory(config.path, config.name), config.name);
  require(listing.ok(), "list_directory");
  require(store_->keep_listing(dataset, encode_listing(*listing), {}) == 0, "keep_listing");
}

}  // namespace zazen
