// The filler, the store's cache and the listener for pushes while the system refuses memory:
// each allocation fails once. However a fill or a push ends, it ends, and it leaves nothing
// behind.
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <new>
#include <set>
#include <thread>

#include "daemon/process/shortage.h"
#include "daemon/worker/push/network_pushes.h"
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

constexpr std::int32_t kStored = 1000;  // what StandIn says of the file with ticket 0

// zazend's side of a link: it gives files, and says of each file which one it has stored.
class StandIn {
 public:
  explicit StandIn(LinkEnds& ends)
      : send_(std::move(ends.send)), receive_(std::move(ends.receive)), thread_([this] {
          is_spared = true;
          run();
        }) {}
  ~StandIn() { thread_.join(); }  // when the worker's end is closed
  void refuse_files() { refuses_files_ = true; }
  void leave() { ::shutdown(send_.get(), SHUT_WR); }
  bool has_back(std::uint64_t ticket) {
    std::lock_guard lock(mutex_);
    return abandoned_.contains(ticket);
  }

 private:
  void run() {
    LinkReader reader;
    LinkPacket packet;
    for (;;) {
      const LinkReader::Got got = reader.next(receive_.get(), &packet);
      if (got == LinkReader::Got::kPacket) {
        answer(packet);
      } else if (got == LinkReader::Got::kNothing) {
        pollfd entry = {receive_.get(), POLLIN, 0};
        ::poll(&entry, 1, -1);
      } else {
        return;
      }
    }
  }
  void answer(const LinkPacket& packet) {
    LinkPacket reply;
    reply.type = packet.type;
    reply.is_reply = true;
    reply.request = packet.request;
    BeginPushes begin;
    FinishPushes finish;
    AbandonFill abandon;
    if (packet.type == kLinkType<BeginPushes> && decode_link_body(packet.body, &begin)) {
      BeginPushes::Reply given;
      for (; begin.count > 0; --begin.count) {
        given.tickets.push_back(++last_ticket_);
        reply.files.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
      }
      reply.body = encode_link_body(given);
    } else if (packet.type == kLinkType<FinishPushes> &&
               decode_link_body(packet.body, &finish)) {
      FinishPushes::Reply stored;
      for (const PushedFile& one : finish.pushed)
        stored.statuses.push_back(kStored + static_cast<std::int32_t>(one.ticket));
      reply.body = encode_link_body(stored);
      if (refuses_files_) reply.status = ENOMEM;
    } else if (packet.type == kLinkType<AbandonFill> &&
               decode_link_body(packet.body, &abandon)) {
      std::lock_guard lock(mutex_);
      abandoned_.insert(abandon.ticket);
      return;
    }
    EXPECT_EQ(send_to_worker(send_.get(), reply), 0);
  }

  const UniqueFd send_, receive_;
  std::atomic<bool> refuses_files_ = false;
  std::uint64_t last_ticket_ = 0;
  std::mutex mutex_;
  std::set<std::uint64_t> abandoned_;
  std::thread thread_;
};

class RefusedPushTest : public Scratch {
 protected:
  void SetUp() override {
    is_spared = true;
    Result<LinkEnds> ends = make_link();
    ASSERT_TRUE(ends.ok());
    zazend_ = std::make_unique<StandIn>(*ends);
    link_ = std::make_unique<CacheLink>(std::move(ends->worker_receive),
                                        std::move(ends->worker_send));
    replies_ = std::thread([this] {
      is_spared = true;
      link_->run([](const LinkPacket&) {});
    });
    pushes_ = std::make_unique<NetworkPushes>(config_, *link_, 0, ::geteuid());
  }
  void TearDown() override {
    left_to_serve = -1;
    zazend_->leave();
    replies_.join();
    pushes_.reset();
    link_.reset();
    zazend_.reset();
  }

  // In another session the n-th allocation is refused. False: it makes fewer.
  template <class Work>
  static bool refuse(long n, Work work) {
    std::thread session([&] {
      left_to_serve = n;
      despite_shortage(work);
    });
    session.join();
    return left_to_serve.exchange(-1) < 0;
  }
  template <class Condition>
  static bool comes(Condition condition) {
    for (int i = 0; i < 10'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static PushDesk::Finished into(std::atomic<int>& status) {
    return [&status](int code) { status = code; };
  }

  std::unique_ptr<StandIn> zazend_;
  std::unique_ptr<CacheLink> link_;
  std::thread replies_;
  std::unique_ptr<NetworkPushes> pushes_;
};

TEST_F(RefusedPushTest, EverySessionIsAnswered) {
  long n = 0;
  for (bool is_refused = true; is_refused && !HasFailure(); ++n) {
    std::atomic<int> begun = 0, finished[2] = {-1, -1};
    for (const std::uint64_t bytes : {1, 2, 1}) {
      pushes_->begin(0, bytes, [&](int, std::uint64_t, UniqueFd) { ++begun; });
    }
    for (const std::uint32_t dataset : {0, 1}) {
      pushes_->finish(dataset, {dataset, 7, 1, 0}, into(finished[dataset]));
    }
    is_refused = refuse(n, [&] { pushes_->flush(); });
    pushes_->flush();
    EXPECT_TRUE(comes([&] { return begun == 3; })) << "allocation " << n << ": " << begun;
    for (const std::int32_t dataset : {0, 1}) {
      EXPECT_TRUE(comes([&] { return finished[dataset] != -1; })) << "allocation " << n;
      EXPECT_TRUE(finished[dataset] == kStored + dataset || finished[dataset] == ENOMEM)
          << "allocation " << n << ": " << finished[dataset];
    }
    TearDown();  // a link reuses its memory
    SetUp();
  }
  EXPECT_GT(n, 10) << "nothing was refused";
}

TEST_F(RefusedPushTest, FilesOfOneMessageKeepTheirAnswers) {
  constexpr int kFiles = 16;
  std::uint64_t first = 1;  // ticket
  long n = 0;
  for (bool is_refused = true; is_refused && !HasFailure(); ++n, first += kFiles) {
    std::atomic<int> statuses[kFiles];
    for (std::atomic<int>& status : statuses) status = -1;
    auto finish = [&](std::uint64_t i) {
      pushes_->finish(0, {first + i, 7, 1, 0}, into(statuses[i]));
    };
    bool is_taken = false;
    is_refused = refuse(n, [&] {
      finish(0);
      is_taken = true;
    });
    for (int i = 1; i < kFiles; ++i) finish(i);
    pushes_->flush();
    for (int i = is_taken ? 0 : 1; i < kFiles; ++i) {
      const auto ticket = first + static_cast<std::uint64_t>(i);
      EXPECT_TRUE(comes([&] { return statuses[i] != -1; })) << "allocation " << n;
      EXPECT_EQ(statuses[i], kStored + static_cast<std::int32_t>(ticket))
          << "allocation " << n << ", file " << i;
    }
  }
}

TEST_F(RefusedPushTest, TicketsOfAMessageThatZazendRefusesAreGivenBack) {
  zazend_->refuse_files();
  std::atomic<int> status = -1;
  pushes_->finish(0, {5, 7, 1, 0}, into(status));
  pushes_->flush();
  EXPECT_TRUE(comes([&] { return status == ENOMEM; }));
  EXPECT_TRUE(comes([&] { return zazend_->has_back(5); }));
}

TEST_F(RefusedPushTest, TicketsOfAMessageThatIsNotSentAreGivenBack) {
  std::uint64_t first = 1;
  long n = 0;
  int refused = 0;
  for (bool is_refused = true; is_refused && !HasFailure(); ++n, first += 2) {
    std::atomic<int> statuses[2] = {-1, -1};
    for (int i = 0; i < 2; ++i) {
      pushes_->finish(0, {first + static_cast<std::uint64_t>(i), 7, 1, 0}, into(statuses[i]));
    }
    is_refused = refuse(n, [&] { pushes_->flush(); });
    pushes_->flush();
    for (int i = 0; i < 2; ++i) {
      const auto ticket = first + static_cast<std::uint64_t>(i);
      ASSERT_TRUE(comes([&] { return statuses[i] != -1; })) << "allocation " << n;
      if (statuses[i] == kStored + static_cast<std::int32_t>(ticket)) continue;
      ++refused;
      EXPECT_EQ(statuses[i], ENOMEM);
      EXPECT_TRUE(comes([&] { return zazend_->has_back(ticket); })) << "allocation " << n;
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace zazen
