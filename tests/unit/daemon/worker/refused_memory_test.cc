// The filler and the store's cache while the system refuses memory: each allocation of a fill
// fails once. However the fill ends, it ends, and it leaves nothing behind.
#include <atomic>
#include <cstdlib>
#include <future>
#include <new>

#include "tests/unit/daemon/local_cache.h"
#include "tests/unit/daemon/scratch.h"

namespace {

// Of all threads but the test's own: how many are to be served before one is refused.
std::atomic<long> left_to_serve = -1;
thread_local bool is_spared = false;

void* serve(std::size_t size) {
  const bool is_refused =
      !is_spared && left_to_serve.load() >= 0 && left_to_serve.fetch_sub(1) == 0;
  return is_refused ? nullptr : std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = serve(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return serve(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace zazen {
namespace {

constexpr std::uint64_t kCapacity = 1 << 20;

class RefusedMemoryTest : public Scratch {
 protected:
  void SetUp() override {
    is_spared = true;
    config_.capacity_bytes = kCapacity;
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    store_->reconcile(0);
    filler_ = std::make_unique<LocalFiller>(
        config_, *store_, trust_, 64, [] {}, 1);
    write_file(origin("f7"), "content");
  }
  void TearDown() override { left_to_serve = -1; }

  // False: it takes more than ten seconds.
  bool await_end() {
    for (int i = 0; i < 10'000; ++i) {
      if (filler_->under_way() == 0 && filler_->counts().under_way == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  // Refuses the n-th allocation of fill(). False: it makes fewer.
  template <class Fill>
  bool refuse(long n, Fill fill) {
    left_to_serve = n;
    fill();
    EXPECT_TRUE(await_end()) << "allocation " << n;
    return left_to_serve.exchange(-1) < 0;
  }
  template <class Fill>
  void refuse_each(Fill fill) {
    const FrameSeq seq = 7;
    long n = 0;
    while (refuse(n, fill) && !HasFailure()) {
      ++n;
      store_->drop(0, std::span(&seq, 1));
    }
    EXPECT_GT(n, 10) << "nothing was refused";
    fill();
    EXPECT_TRUE(await_end());
    EXPECT_EQ(read_file(copy("f7")), "content");
    store_->drop(0, std::span(&seq, 1));
    EXPECT_EQ(store_->usage().bytes, 0u);
    EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, kCapacity).valid())
        << "room is kept back";
  }

  std::unique_ptr<Store> store_;
  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  std::unique_ptr<LocalFiller> filler_;
};

TEST_F(RefusedMemoryTest, AnAwaitedFillEnds) {
  refuse_each([this] {
    FillRequest request;
    request.seq = 7;
    request.origin = open_origin("f7");
    std::promise<int> answer;
    request.done = [&](int status) { answer.set_value(status); };
    ASSERT_TRUE(filler_->submit(request));
    const auto answered = answer.get_future().wait_for(std::chrono::seconds(10));
    ASSERT_EQ(answered, std::future_status::ready);
  });
}

TEST_F(RefusedMemoryTest, AMissedFrameIsFilledOrNot) {
  struct stat st = {};
  ASSERT_EQ(::stat(origin("f7").c_str(), &st), 0);
  refuse_each([&] {
    FillRequest request;
    request.seq = 7;
    request.file = file_mark(st);
    ASSERT_TRUE(filler_->submit(request));
  });
}

}  // namespace
}  // namespace zazen
