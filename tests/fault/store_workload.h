// StoreWorkload: a seeded life of a store on a real directory: fills, pushes, natives that wait
// for their origin and are adopted, promotions, batches, evictions, rewritten frames, frames
// that are opened for writing, listings, restarts. The answers to clients go into the record
// of the disk's changes.
#pragma once
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "bodhi/config/config.h"
#include "daemon/store/store.h"
#include "tests/fault/origin_history.h"
#include "tests/unit/daemon/local_cache.h"

namespace zazen {

class StoreWorkload {
 public:
  // `config` has the directories and no limits but max_files.
  // With `opens`, frames are opened for writing, too.
  StoreWorkload(const Config& config, OriginHistory& origin, std::mt19937_64& random,
                CacheDisk::Temporaries temporaries, bool opens);
  void run(std::size_t steps);
  const StoreUsage& usage_at_the_end() const { return usage_; }

 private:
  void start();
  void stop();
  void ask(FrameKind kind, std::uint32_t dataset, const std::set<FrameSeq>& frames);
  void publish_together(FrameKind kind, std::uint32_t dataset,
                        const std::set<FrameSeq>& frames);
  // Content whose origin is not looked at: whoever asks for the frame later finds it there.
  void push_content(std::uint32_t dataset, const std::set<FrameSeq>& frames);
  void change(std::uint32_t dataset, FrameSeq seq);
  void rewrite(std::uint32_t dataset, FrameSeq seq);
  // Their copies are suspended; some of them change before they are closed, and some stay open.
  void open_for_writing(std::uint32_t dataset, const std::set<FrameSeq>& frames);
  void evict(std::uint32_t dataset);
  void keep_listing(std::uint32_t dataset);
  void note_pushed(std::uint32_t dataset, FrameSeq seq);
  void note_invalidated(std::uint32_t dataset, FrameSeq seq);

  const Config& config_;
  OriginHistory& origin_;
  std::mt19937_64& random_;
  const CacheDisk::Temporaries temporaries_;
  const bool opens_;
  std::unique_ptr<Store> store_;
  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  std::unique_ptr<LocalFiller> filler_;
  StoreUsage usage_;
};

}  // namespace zazen
