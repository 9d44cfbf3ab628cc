// FilledStore: a store that holds five frames of a real origin, f1 to f5, as aliens.
#pragma once
#include <future>

#include "tests/unit/daemon/local_cache.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {

class FilledStore : public Scratch {
 protected:
  void SetUp() override {
    open_store();
    for (FrameSeq seq = 1; seq <= 5; ++seq) {
      write_file(origin(name(seq)), content());
      fill(seq);
    }
  }

  virtual std::string content() const { return "content"; }
  static std::string name(FrameSeq seq) { return "f" + std::to_string(seq); }

  void open_store() {
    store_.reset();
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
  }
  void fill(FrameSeq seq) {
    Trust trust([](std::uint32_t, std::uint32_t) {});
    LocalFiller filler(config_, *store_, trust, 64);
    std::promise<int> answer;
    FillRequest request;
    request.seq = seq;
    request.origin = open_origin(name(seq));
    request.done = [&](int status) { answer.set_value(status); };
    ASSERT_TRUE(filler.submit(request));
    ASSERT_EQ(answer.get_future().get(), 0);
  }
  // The same size and the same mtime, other bytes.
  void rewrite(FrameSeq seq) {
    struct stat before = {};
    ASSERT_EQ(::stat(origin(name(seq)).c_str(), &before), 0);
    write_file(origin(name(seq)), std::string(content().size(), '#'));
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, origin(name(seq)).c_str(), times, 0), 0);
  }
  Frames held() const { return store_->frames_from(0, 0, 100); }

  std::unique_ptr<Store> store_;
};

}  // namespace zazen
