// LocalCache: a worker's view of a store of this very process, for tests of what a worker does.
#pragma once
#include <future>

#include "daemon/service/store_cache.h"
#include "daemon/validation/sample.h"
#include "daemon/worker/cache/cache.h"
#include "daemon/worker/fills/filler.h"
#include "daemon/worker/origins/comparison.h"
#include "daemon/worker/origins/origin.h"
#include "daemon/worker/origins/origin_way.h"

namespace zazen {

// Looks at the origin in this process.
inline CompareAtOrigin compare_here(const Config& config) {
  return [&config](std::uint32_t dataset, const std::vector<CopyToCompare>& copies,
                   std::size_t threads, std::vector<Comparison>* out) {
    return compare_with_origins(config.datasets[dataset], copies, threads, out);
  };
}

inline void mirror_here(Store& store, const Config& config, std::uint32_t dataset) {
  const std::uint64_t look = store.begin_look(dataset);
  store.mirror_own_rights(dataset, look, rights_at_origin(config.datasets[dataset]));
}

class NoOriginChecks : public OriginChecks {
 public:
  void verify(std::uint64_t, std::span<FinishedCopy>) override {}
  void mirror(std::uint64_t, std::uint32_t, const ReachedDirectories&) override {}
};

class LocalCache : public Cache, private OriginChecks {
 public:
  LocalCache(const Config& config, Store& store, Trust& trust)
      : config_(config), store_(store), cache_(store, trust, *this) {}

  StoreCache& cache() { return cache_; }

  int begin_fill(const BeginFill& offer, BeginFill::Reply* reply) override {
    std::promise<int> answer;
    cache_.begin_fill(kWorker, offer, [&](int status, BeginFill::Reply begun) {
      *reply = std::move(begun);
      answer.set_value(status);
    });
    return answer.get_future().get();
  }
  int more_room(const MoreRoom& more) override {
    return cache_.more_room(kWorker, more.ticket, more.bytes);
  }
  int adopt(const Adopt& adopt) override { return cache_.adopt(kWorker, adopt); }
  void finish_fill(const FinishFill& finish, std::function<void(int)> done) override {
    cache_.finish_fill(kWorker, finish, std::move(done));
  }
  void finish_content(const FinishContent& finish, std::function<void(int)> done) override {
    cache_.finish_content(kWorker, finish, std::move(done));
  }
  void abandon_fill(const AbandonFill& abandon) override {
    cache_.abandon_fill(kWorker, abandon.ticket, abandon.status);
  }
  void note_failed(const FillFailed& failed) override { cache_.note_failed(failed); }

 private:
  static constexpr std::uint64_t kWorker = 1;

  void mirror(std::uint64_t, std::uint32_t dataset, const ReachedDirectories& way) override {
    if (!store_.is_mirrored(dataset, way)) mirror_here(store_, config_, dataset);
  }
  void verify(std::uint64_t, std::span<FinishedCopy> batch) override {
    for (FinishedCopy& copy : batch) {
      if (copy.status != 0 || copy.waits) continue;
      ReachedDirectories reached;
      struct stat now = {};
      const UniqueFd named =
          find_named(config_.datasets[copy.dataset], store_.name_of(copy.dataset, copy.seq),
                     kToRead, config_.all_users ? &reached : nullptr);
      const bool is_current = named.valid() && ::fstat(named.get(), &now) == 0 &&
                              same_file(copy.identity, now) && reached == copy.reached &&
                              !(copy.kind == FrameKind::kAlien && has_writer(named.get()));
      if (!is_current) copy.status = ESTALE;
    }
  }

  const Config& config_;
  Store& store_;
  StoreCache cache_;
};

// A filler of this process, on that cache.
class LocalFiller {
 public:
  LocalFiller(
      const Config& config, Store& store, Trust& trust, std::size_t queue_limit,
      std::function<void()> on_room = [] {},
      std::size_t threads_for_each_dataset = Filler::kThreads)
      : cache_(config, store, trust),
        filler_(config, cache_, queue_limit,
                {.may_push = [](std::uint32_t, const std::string&) { return true; },
                 .on_room = std::move(on_room)},
                threads_for_each_dataset) {}

  bool submit(FillRequest& request) { return filler_.submit(request); }
  void stop() {
    filler_.stop(WorkQueue::kForEver);
    cache_.cache().stop();
  }
  void cancel(std::uint32_t dataset, FrameSeq seq) { cache_.cache().cancel(dataset, seq); }
  FillCounts counts() { return cache_.cache().counts(); }
  std::uint64_t dropped() const { return filler_.dropped(); }
  std::uint64_t queued() const { return filler_.queued(); }
  std::uint64_t under_way() const { return filler_.under_way(); }

 private:
  LocalCache cache_;
  Filler filler_;
};

}  // namespace zazen
