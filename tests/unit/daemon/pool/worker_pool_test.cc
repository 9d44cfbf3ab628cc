// A real pool with real workers, which do what a hostile one might do. Each test runs in a
// process of its own: the forker is to be started by one that has a single thread.
#include "daemon/pool/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <future>
#include <thread>

#include "bodhi/common/memory_file.h"
#include "bodhi/lean/requests/wire.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong(30'000), kForEver(3'600'000);
constexpr unsigned kSecondsOfATest = 60;
constexpr uid_t kQuick = 64'001, kMute = 64'002;  // users who need no account

// ---- What workers do

// Between the test and its workers, beside the link.
class Signal {
 public:
  Signal() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    receive_.reset(ends[0]);
    send_.reset(ends[1]);
  }
  void give() const { EXPECT_EQ(::write(send_.get(), "x", 1), 1); }
  void await() const {
    char byte;
    EXPECT_EQ(::read(receive_.get(), &byte, 1), 1);
  }
  // Of the process that calls it.
  void give_pid() const {
    const pid_t self = ::getpid();
    EXPECT_EQ(::write(send_.get(), &self, sizeof self), static_cast<ssize_t>(sizeof self));
  }
  // The process that gave its pid is no more.
  void await_death() const {
    pid_t process = 0;
    ASSERT_EQ(::read(receive_.get(), &process, sizeof process),
              static_cast<ssize_t>(sizeof process));
    const auto begin = std::chrono::steady_clock::now();
    while (::kill(process, 0) == 0 && std::chrono::steady_clock::now() - begin < kLong) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(::kill(process, 0), -1);
  }

 private:
  UniqueFd receive_, send_;
};

class Link {  // a worker's
 public:
  Link(UniqueFd receive, UniqueFd send)
      : receive_(std::move(receive)), send_(std::move(send)), writer_(send_.get()) {}

  // Nothing: zazend has cut this worker off.
  std::optional<LinkPacket> receive() {
    LinkPacket packet;
    if (!receive_from_zazend(receive_.get(), &packet)) return std::nullopt;
    return packet;
  }
  LinkPacket next_order() {
    while (std::optional<LinkPacket> packet = receive()) {
      if (packet->is_reply) continue;
      ++seen_;
      if (packet->request != 0) return std::move(*packet);
    }
    ::_exit(0);
  }
  template <class Order>
  void answer(const LinkPacket& order, LinkReply<Order> reply) {
    LinkPacket packet;
    packet.type = order.type;
    packet.is_reply = true;
    packet.request = order.request;
    packet.body = encode_link_body(reply);
    writer_.send(packet);
  }
  template <class Ask>
  void send(Ask ask, std::uint64_t request) {
    LinkPacket packet = packet_of(std::move(ask));
    packet.request = request;
    writer_.send(packet);
  }
  // The reply's status.
  template <class Ask>
  int ask(Ask ask) {
    send(ask, 1);
    while (std::optional<LinkPacket> packet = receive()) {
      if (packet->is_reply) return packet->status;
      ++seen_;
    }
    ::_exit(0);
  }
  void write(std::string_view bytes) {
    (void)!::write(send_.get(), bytes.data(), bytes.size());
  }
  std::uint64_t seen() const { return seen_; }

 private:
  UniqueFd receive_, send_;
  LinkWriter writer_;
  std::uint64_t seen_ = 0;  // orders
};

void answer_orders(Link& link) {
  for (;;) {
    const LinkPacket order = link.next_order();
    link.answer<Problems>(order,
                          {{std::to_string(::getuid()), std::to_string(link.seen())}, {}});
  }
}

void be_mute(Link& link) {
  for (;;) link.next_order();
}

// ---- The pool

class WorkerPoolTest : public Scratch {
 protected:
  using Run = std::function<void(Link& link)>;
  using Take = std::function<bool(WorkerPool::Worker& worker, const LinkPacket& packet)>;

  // `body` in a process of its own.
  static void apart(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(kSecondsOfATest);
      body();
      std::fflush(nullptr);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  class Pool : private WorkerPool::Owner {
   public:
    Pool(const WorkerPoolTest& test, Run run, Take take = {}, WorkerLimits limits = {})
        : take_(std::move(take)) {
      Result<Forker> forker = Forker::start(
          [run](UniqueFd receive, UniqueFd send) {
            Link link(std::move(receive), std::move(send));
            run(link);
          },
          "");
      EXPECT_TRUE(forker.ok());
      const bool is_root = ::geteuid() == 0;
      auto pool =
          WorkerPool::listen(test.runtime(), is_root, std::move(*forker), *this, limits);
      EXPECT_TRUE(pool.ok());
      pool_ = std::move(*pool);
      serving_ = std::thread([this] { pool_->run(stop_.get(), {}, [] {}); });
    }
    ~Pool() override { stop(); }

    WorkerPool* operator->() { return pool_.get(); }
    void stop() {
      if (!serving_.joinable()) return;
      ::eventfd_write(stop_.get(), 1);
      serving_.join();
      pool_->stop();
    }
    WorkerId worker_of(uid_t uid) { return pool_->worker_of(uid, uid); }
    int order(WorkerId worker, milliseconds limit = kLong) {
      return pool_->order(worker, Problems{}, &reply, limit);
    }
    std::future<int> order_later(WorkerId worker) {
      return std::async(std::launch::async, [this, worker] {
        Problems::Reply mine;
        return pool_->order(worker, Problems{}, &mine, kForEver);
      });
    }
    // Whether it had taken its leave.
    bool await_end(WorkerId worker) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_.contains(worker); });
      return ended_[worker];
    }

    Problems::Reply reply;

   private:
    LinkPacket first_order(const WorkerCredentials&) override { return packet_of(Configure{}); }
    bool take(WorkerPool::Worker& worker, LinkPacket packet) override {
      return take_ && take_(worker, packet);
    }
    void worker_ended(WorkerId worker, const WorkerCredentials&, const WorkerFigures&,
                      bool has_left) override {
      std::lock_guard lock(mutex_);
      ended_[worker] = has_left;
      changed_.notify_all();
    }

    const Take take_;
    UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<WorkerId, bool> ended_;
    std::unique_ptr<WorkerPool> pool_;
    std::thread serving_;
  };

  // As a program of this user, which need not exist.
  UniqueFd connect_as(uid_t uid) const {
    for (const std::string& path : {directory(), runtime()}) ::chmod(path.c_str(), 0711);
    EXPECT_EQ(::seteuid(uid), 0);
    UniqueFd socket(connect_daemon(runtime().c_str(), static_cast<int>(kLong.count())));
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_TRUE(socket.valid());
    return socket;
  }
  static bool is_closed(int socket) {
    char byte;
    pollfd readable = {socket, POLLIN, 0};
    return ::poll(&readable, 1, static_cast<int>(kLong.count())) == 1 &&
           ::recv(socket, &byte, 1, 0) == 0;
  }

  static bool is_ready(std::future<int>& future) {
    return future.wait_for(milliseconds(0)) == std::future_status::ready;
  }
};

// Only root can start workers of several users.
class WorkersOfUsersTest : public WorkerPoolTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start workers of others";
  }
};

TEST_F(WorkerPoolTest, AWorkerAnswersOrders) {
  apart([this] {
    Pool pool(*this, answer_orders);
    const WorkerId worker = pool->own_worker();
    ASSERT_NE(worker, 0u);
    EXPECT_EQ(pool->own_worker(), worker);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(pool.order(worker), 0);
    const std::string all = "101";  // and the first one, which has no reply
    EXPECT_EQ(pool.reply.problems, (std::vector<std::string>{std::to_string(::getuid()), all}));
    EXPECT_EQ(pool.order(worker + 1), EPIPE);
    EXPECT_EQ(pool->size(), 1u);
  });
}

TEST_F(WorkerPoolTest, AnAnswerThatIsNoneOfThisOrderIsRefused) {
  apart([this] {
    Pool pool(*this, [](Link& link) {
      for (;;) link.answer<Suspend>(link.next_order(), {});
    });
    EXPECT_EQ(pool.order(pool->own_worker()), EBADMSG);
  });
}

TEST_F(WorkersOfUsersTest, AWorkerHasTheRightsOfItsUser) {
  apart([this] {
    Pool pool(*this, answer_orders);
    ASSERT_EQ(pool.order(pool.worker_of(kQuick)), 0);
    EXPECT_EQ(pool.reply.problems[0], std::to_string(kQuick));
    ASSERT_EQ(pool.order(pool.worker_of(0)), 0);
    EXPECT_EQ(pool.reply.problems[0], "0");
  });
}

TEST_F(WorkersOfUsersTest, ThereAreSoManyWorkersInAll) {
  apart([this] {
    Pool pool(*this, answer_orders, {}, {.of_a_user = 1, .in_all = 2, .reserved = 0});
    EXPECT_NE(pool.worker_of(kQuick), 0u);
    EXPECT_NE(pool.worker_of(kMute), 0u);
    EXPECT_EQ(pool.worker_of(kMute + 1), 0u);
    EXPECT_EQ(pool.order(0), EPIPE);
  });
}

// Clients would be refused; zazend must look at the directories of every user.
TEST_F(WorkersOfUsersTest, SomePlacesAreForZazend) {
  apart([this] {
    Pool pool(*this, answer_orders, {}, {.of_a_user = 1, .in_all = 1, .reserved = 1});
    EXPECT_NE(pool.worker_of(kQuick), 0u);
    const UniqueFd client = connect_as(kMute);
    EXPECT_TRUE(is_closed(client.get()));
    EXPECT_NE(pool.worker_of(kMute + 1), 0u);
    EXPECT_EQ(pool.worker_of(kMute + 2), 0u);
  });
}

TEST_F(WorkerPoolTest, ATellThatIsLostIsKnown) {
  apart([this] {
    Pool pool(*this, [](Link&) { ::pause(); });
    const WorkerId worker = pool->own_worker();
    std::size_t told = 0;
    while (pool->tell(worker, TellPeers{})) ++told;
    EXPECT_GE(told, WorkerPool::Worker::kMostMessages);
    EXPECT_FALSE(pool->tell(worker + 1, TellPeers{}));
  });
}

TEST_F(WorkersOfUsersTest, AtALimitTheLongestUnusedWorkerGivesWay) {
  apart([this] {
    Pool pool(*this, answer_orders, {}, {.of_a_user = 1, .in_all = 2, .reserved = 0});
    const WorkerId unused = pool.worker_of(kMute);
    const WorkerId used = pool.worker_of(kQuick);
    const auto begin = std::chrono::steady_clock::now();
    WorkerId third = 0;
    while (third == 0 && std::chrono::steady_clock::now() - begin < kLong) {
      ASSERT_EQ(pool.order(used), 0);
      third = pool.worker_of(kMute + 1);
    }
    EXPECT_EQ(pool.order(third), 0);
    EXPECT_FALSE(pool.await_end(unused));
    EXPECT_EQ(pool.order(used), 0);
    EXPECT_EQ(pool->size(), 2u);
  });
}

TEST_F(WorkerPoolTest, AWorkerThatIsStoppedIsKilled) {
  apart([this] {
    Signal worker_is;
    Pool pool(*this,
              [&](Link&) {
                worker_is.give_pid();
                ::raise(SIGSTOP);
              },
              {}, {.silent_seconds = 1});
    EXPECT_FALSE(pool.await_end(pool->own_worker()));
    worker_is.await_death();
  });
}

TEST_F(WorkerPoolTest, AnOrderThatIsNotAnsweredEnds) {
  apart([this] {
    Signal answer;
    Pool pool(*this, [answer = &answer](Link& link) {
      std::vector<LinkPacket> orders;
      for (std::size_t i = 0; i < WorkerPool::Worker::kMostOverdue; ++i) {
        orders.push_back(link.next_order());
      }
      answer->await();
      for (const LinkPacket& order : orders) link.answer<Problems>(order, {});
      answer_orders(link);
    });
    const WorkerId worker = pool->own_worker();
    for (std::size_t i = 0; i < WorkerPool::Worker::kMostOverdue; ++i) {
      EXPECT_EQ(pool.order(worker, milliseconds(1)), ETIMEDOUT);
    }
    // It gets no more of them, so nobody waits.
    EXPECT_EQ(pool.order(worker, kForEver), ETIMEDOUT);
    answer.give();
    int status = ETIMEDOUT;
    while (status == ETIMEDOUT) status = pool.order(worker, kForEver);
    EXPECT_EQ(status, 0) << "late answers are passed over";
    EXPECT_EQ(pool.reply.problems.size(), 2u);
  });
}

TEST_F(WorkerPoolTest, AnOriginThatHangsKeepsNoOrdersForOthers) {
  apart([this] {
    constexpr std::uint32_t kHangs = 1, kAnswers = 2;
    Pool pool(*this, [](Link& link) {
      for (;;) {
        const LinkPacket order = link.next_order();
        Rights rights;
        if (decode_link_body(order.body, &rights) && rights.dataset == kAnswers) {
          link.answer<Rights>(order, {});
        }
      }
    });
    const WorkerId worker = pool->own_worker();
    Rights::Reply reply;
    for (int i = 0; i < 3 * WorkerPool::Worker::kMostOverdue; ++i) {
      EXPECT_EQ(pool->order(worker, Rights{kHangs}, &reply, milliseconds(1)), ETIMEDOUT);
    }
    EXPECT_EQ(pool->order(worker, Rights{kHangs}, &reply, kForEver), ETIMEDOUT);
    EXPECT_EQ(pool->order(worker, Rights{kAnswers}, &reply, kForEver), 0);
  });
}

TEST_F(WorkersOfUsersTest, AWorkerThatNeverAnswersDelaysNoOther) {
  apart([this] {
    Pool pool(*this,
              [](Link& link) { ::getuid() == kMute ? be_mute(link) : answer_orders(link); });
    const WorkerId mute = pool.worker_of(kMute), quick = pool.worker_of(kQuick);
    std::future<int> waiting = pool.order_later(mute);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(pool.order(quick), 0);
    EXPECT_FALSE(is_ready(waiting));
    pool.stop();
    EXPECT_EQ(waiting.get(), ECANCELED);
  });
}

TEST_F(WorkerPoolTest, AStopEndsAllWaits) {
  apart([this] {
    Signal taken;
    Pool pool(*this, [&](Link& link) {
      for (;;) {
        link.next_order();
        taken.give();
      }
    });
    const WorkerId worker = pool->own_worker();
    std::vector<std::future<int>> waiting;
    for (int i = 0; i < 10; ++i) waiting.push_back(pool.order_later(worker));
    for (std::size_t i = 0; i < waiting.size(); ++i) taken.await();
    pool.stop();
    for (std::future<int>& one : waiting) EXPECT_EQ(one.get(), ECANCELED);
    EXPECT_EQ(pool.order(worker), EPIPE);
    EXPECT_EQ(pool->own_worker(), 0u);
    EXPECT_FALSE(pool.await_end(worker));
  });
}

// ---- Those who break the rules

TEST_F(WorkerPoolTest, AWorkerThatWritesNonsenseIsKilled) {
  apart([this] {
    Signal worker_is;
    Pool pool(*this, [&](Link& link) {
      worker_is.give_pid();
      link.next_order();
      link.write(std::string(64, '#'));
      for (;;) ::pause();
    });
    const WorkerId worker = pool->own_worker();
    EXPECT_EQ(pool.order(worker, kForEver), ECANCELED);
    EXPECT_FALSE(pool.await_end(worker));
    worker_is.await_death();
    EXPECT_EQ(pool.order(worker), EPIPE);
    EXPECT_EQ(pool->size(), 0u);
  });
}

TEST_F(WorkerPoolTest, AWorkerThatAsksWhatNobodyAsksIsKilled) {
  apart([this] {
    Signal worker_is;
    Pool pool(
        *this,
        [&](Link& link) {
          worker_is.give_pid();
          link.next_order();
          link.send(MoreRoom{}, 1);
          for (;;) ::pause();
        },
        [](WorkerPool::Worker&, const LinkPacket&) { return false; });
    EXPECT_EQ(pool.order(pool->own_worker(), kForEver), ECANCELED);
    worker_is.await_death();
  });
}

TEST_F(WorkerPoolTest, RepliesThatNobodyWaitsForArePassedOver) {
  apart([this] {
    Pool pool(*this, [](Link& link) {
      for (;;) {
        LinkPacket order = link.next_order();
        const std::uint64_t number = order.request;
        for (order.request = number + 50; order.request >= number; --order.request) {
          link.answer<Problems>(order, {{std::to_string(order.request - number)}, {}});
        }
      }
    });
    const WorkerId worker = pool->own_worker();
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(pool.order(worker), 0);
      EXPECT_EQ(pool.reply.problems, std::vector<std::string>{"0"});
    }
  });
}

// ---- Many asks

bool reply_at_once(WorkerPool::Worker& worker, const LinkPacket& packet) {
  worker.reply(packet.type, packet.request, 0);
  return true;
}

// As a worker writes them, with the requests 1 to `count`.
std::string many_asks(std::uint64_t count) {
  LinkEnds ends = std::move(*make_link());
  LinkWriter writer(ends.worker_send.get());
  std::string bytes;
  for (std::uint64_t i = 1; i <= count; ++i) {
    LinkPacket packet;
    packet.type = kLinkType<PushKeyAsk>;
    packet.request = i;
    writer.send(packet);
    char one[64];
    bytes.append(one, static_cast<std::size_t>(::read(ends.receive.get(), one, sizeof one)));
  }
  return bytes;
}

// False: zazend has cut this worker off.
bool receive_replies(Link& link, std::uint64_t count) {
  for (std::uint64_t next = 1; next <= count;) {
    std::optional<LinkPacket> packet = link.receive();
    if (!packet) return false;
    if (packet->is_reply && packet->request == next) ++next;
  }
  return true;
}

// The kernel queues this number for a worker that does not read.
std::size_t replies_that_fit() {
  LinkEnds ends = std::move(*make_link());
  LinkPacket packet;
  packet.is_reply = true;
  std::size_t count = 0;
  while (send_to_worker(ends.send.get(), packet) == 0) ++count;
  return count;
}

TEST_F(WorkerPoolTest, ManyAsksInOneWriteAreAllTaken) {
  apart([this] {
    static constexpr std::uint64_t kMany = 1'000;
    Signal answered;
    Pool pool(
        *this,
        [&](Link& link) {
          link.write(many_asks(kMany));
          if (receive_replies(link, kMany)) answered.give();
          ::pause();
        },
        reply_at_once);
    ASSERT_NE(pool->own_worker(), 0u);
    answered.await();
  });
}

TEST_F(WorkerPoolTest, MoreAsksThanMayBeUnderWayAreAllTaken) {
  apart([this] {
    static constexpr std::uint64_t kMany = 3 * WorkerPool::Worker::kMostAsks;
    Signal answered;
    std::atomic<std::size_t> under_way = 0, most = 0;
    Pool pool(
        *this,
        [&](Link& link) {
          link.write(many_asks(kMany));
          if (receive_replies(link, kMany)) answered.give();
          ::pause();
        },
        [&](WorkerPool::Worker& worker, const LinkPacket& packet) {
          most = std::max<std::size_t>(most, ++under_way);
          // One thread, which keeps their order.
          worker.post_long([&, shared = worker.shared_from_this(), type = packet.type,
                            request = packet.request] {
            --under_way;
            shared->reply(type, request, 0);
          });
          return true;
        });
    ASSERT_NE(pool->own_worker(), 0u);
    answered.await();
    EXPECT_LE(most, WorkerPool::Worker::kMostAsks);
  });
}

TEST_F(WorkersOfUsersTest, AWorkerThatDoesNotReadItsRepliesBlocksItself) {
  apart([this] {
    static constexpr std::uint64_t kFlood = 10'000;  // the pipe holds this number
    const std::size_t most = replies_that_fit() + WorkerPool::Worker::kMostAsks;
    ASSERT_LT(most, kFlood);
    Signal flooded, read_now, answered;
    std::atomic<std::size_t> taken = 0;
    Pool pool(
        *this,
        [&](Link& link) {
          if (::getuid() == kQuick) answer_orders(link);
          link.write(many_asks(kFlood));
          flooded.give();
          read_now.await();
          if (receive_replies(link, kFlood)) answered.give();
          ::pause();
        },
        [&](WorkerPool::Worker& worker, const LinkPacket& packet) {
          ++taken;
          return reply_at_once(worker, packet);
        });
    const WorkerId quick = pool.worker_of(kQuick);
    ASSERT_NE(pool.worker_of(kMute), 0u);
    flooded.await();
    // Each takes a round of the serving thread, in which all asks might be taken.
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(pool.order(quick), 0);
    EXPECT_LE(taken, most);
    read_now.give();
    answered.await();
    EXPECT_EQ(taken, kFlood);
  });
}

TEST_F(WorkerPoolTest, AWorkerThatNeverReadsItsRepliesIsKilled) {
  apart([this] {
    Pool pool(*this,
              [](Link& link) {
                link.write(many_asks(10'000));
                ::pause();
              },
              reply_at_once, {.silent_seconds = 1});
    EXPECT_FALSE(pool.await_end(pool->own_worker()));
  });
}

// ---- What a worker may use of zazend

TEST_F(WorkerPoolTest, AWorkerHasABoundedNumberOfThreads) {
  apart([this] {
    static constexpr std::uint32_t kDatasets = 64;
    constexpr std::size_t kMost = 2 * WorkerPool::Worker::kMostLanes;
    std::promise<void> gate;
    std::shared_future<void> open = gate.get_future().share();
    std::atomic<std::size_t> running = 0, most = 0;
    Signal answered;
    Pool pool(
        *this,
        [&](Link& link) {
          link.write(many_asks(2 * kDatasets));
          if (link.ask(DiskState{}) == 0) answered.give();
          ::pause();
        },
        [&](WorkerPool::Worker& worker, const LinkPacket& packet) {
          auto reply = [shared = worker.shared_from_this(), type = packet.type,
                        request = packet.request] { shared->reply(type, request, 0); };
          if (packet.type == kLinkType<DiskState>) {
            worker.post(kNoDataset, reply);
            return true;
          }
          worker.post(static_cast<std::uint32_t>(packet.request / 2), [&, reply] {
            most = std::max<std::size_t>(most, ++running);
            open.wait();
            --running;
          });
          return true;
        });
    ASSERT_NE(pool->own_worker(), 0u);
    answered.await();  // that names no dataset, and waits for none
    while (running < kMost) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(50));
    gate.set_value();
    EXPECT_EQ(most, kMost);
  });
}

TEST_F(WorkersOfUsersTest, AWorkerThatTakesNoListsGetsFew) {
  apart([this] {
    static constexpr std::uint64_t kLists = 200;
    constexpr std::size_t kMost = WorkerPool::Worker::kMostContents;
    Signal read_now, answered;
    std::atomic<std::size_t> made = 0;
    Pool pool(
        *this,
        [&](Link& link) {
          if (::getuid() == kQuick) answer_orders(link);
          for (std::uint64_t i = 1; i <= kLists; ++i) link.send(ListAsk{}, i);
          read_now.await();
          if (receive_replies(link, kLists)) answered.give();
          ::pause();
        },
        [&](WorkerPool::Worker& worker, const LinkPacket& packet) {
          worker.post_long([&made, shared = worker.shared_from_this(), type = packet.type,
                            request = packet.request] {
            if (!shared->await_room_for_content()) return shared->reply(type, request, EAGAIN);
            ++made;
            std::vector<UniqueFd> files;
            files.push_back(std::move(*sealed_memory("list")));
            shared->reply(type, request, 0, {}, std::move(files));
          });
          return true;
        });
    const WorkerId quick = pool.worker_of(kQuick);
    ASSERT_NE(pool.worker_of(kMute), 0u);
    while (made < kMost) std::this_thread::sleep_for(milliseconds(1));
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(pool.order(quick), 0);
    EXPECT_EQ(made, kMost);
    read_now.give();
    answered.await();
    EXPECT_EQ(made, kLists);
  });
}

// ---- Ends

// How many of this user's workers were started until one was refused, or there were kMany.
constexpr int kMany = 100;
template <class Pool>
int start_until_refused(Pool& pool, uid_t uid) {
  int started = 0;
  for (; started < kMany; ++started) {
    const WorkerId worker = pool.worker_of(uid);
    if (worker == 0) break;
    EXPECT_FALSE(pool.await_end(worker));
  }
  return started;
}

// On a machine that is slow they do not die that often.
TEST_F(WorkerPoolTest, WorkersThatDieAtOnceAreNotStartedForEver) {
  apart([this] {
    constexpr int kMostDeaths = 20;  // in two seconds
    Pool pool(*this, [](Link&) {});
    const auto begin = std::chrono::steady_clock::now();
    const int started = start_until_refused(pool, ::geteuid());
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(started, kMostDeaths) << "some deaths are forgiven";
    EXPECT_LE(started, kMostDeaths * (1 + took / std::chrono::seconds(2)));
  });
}

TEST_F(WorkersOfUsersTest, DeathsCountForTheirUser) {
  apart([this] {
    Pool pool(*this, [](Link& link) {
      if (::getuid() == kQuick) answer_orders(link);
    });
    start_until_refused(pool, kMute);
    EXPECT_EQ(pool.order(pool.worker_of(kQuick)), 0);
  });
}

bool take_leave(WorkerPool::Worker& worker, const LinkPacket& packet) {
  Leave leave;
  if (packet.type != kLinkType<Leave> || !decode_link_body(packet.body, &leave)) return false;
  worker.reply(packet.type, packet.request, worker.take_leave(leave.orders_seen));
  return true;
}

TEST_F(WorkerPoolTest, AWorkerMayNotLeaveWithMessagesOnTheirWay) {
  apart([this] {
    Pool pool(
        *this,
        [](Link& link) {
          const LinkPacket order = link.next_order();
          std::vector<std::string> statuses;
          for (std::uint64_t seen :
               {std::uint64_t{0}, link.seen() - 1, link.seen(), link.seen() + 1}) {
            statuses.push_back(std::to_string(link.ask(Leave{seen})));
          }
          link.answer<Problems>(order, {statuses, {}});
          if (link.ask(Leave{link.seen()}) != 0) ::pause();
        },
        take_leave);
    const WorkerId worker = pool->own_worker();
    ASSERT_EQ(pool.order(worker), 0);
    const std::string again = std::to_string(EAGAIN);
    EXPECT_EQ(pool.reply.problems, (std::vector<std::string>{again, again, again, again}));
    EXPECT_TRUE(pool.await_end(worker));
  });
}

TEST_F(WorkerPoolTest, AWorkerThatHasLeftGetsNoOrders) {
  apart([this] {
    Signal left, end;
    Pool pool(
        *this,
        [&](Link& link) {
          link.receive();
          if (link.ask(Leave{1}) != 0) ::pause();
          left.give();
          end.await();
        },
        take_leave);
    const WorkerId worker = pool->own_worker();
    left.await();
    EXPECT_EQ(pool.order(worker, kForEver), EPIPE);
    const WorkerId next = pool->own_worker();
    EXPECT_NE(next, worker);
    EXPECT_NE(next, 0u);
    left.await();
    end.give();
    end.give();
    EXPECT_TRUE(pool.await_end(worker));
    EXPECT_TRUE(pool.await_end(next));
  });
}

// More often than they may die.
TEST_F(WorkerPoolTest, LeavesAreNoDeaths) {
  apart([this] {
    Pool pool(
        *this,
        [](Link& link) {
          link.receive();
          if (link.ask(Leave{1}) != 0) ::pause();
        },
        take_leave);
    for (int i = 0; i < 50; ++i) {
      const WorkerId worker = pool->own_worker();
      ASSERT_NE(worker, 0u);
      ASSERT_TRUE(pool.await_end(worker));
    }
  });
}

// ---- Clients

TEST_F(WorkerPoolTest, ClientsArePassedOnToTheirWorker) {
  apart([this] {
    Pool pool(*this, [](Link& link) {
      while (std::optional<LinkPacket> packet = link.receive()) {
        Connection connection;
        if (packet->type != kLinkType<Connection>) continue;
        if (!decode_link_body(packet->body, &connection)) return;
        const std::string hello = std::to_string(connection.pid);
        struct iovec part = {const_cast<char*>(hello.data()), hello.size()};
        send_once(packet->take_file().get(), std::span(&part, 1), {});
      }
    });
    for (int i = 0; i < 3; ++i) {
      const UniqueFd client(connect_daemon(runtime().c_str(), 10'000));
      ASSERT_TRUE(client.valid());
      char text[64];
      int passed = -1;
      const int size = receive_message(client.get(), text, sizeof text, &passed, 10'000);
      ASSERT_GT(size, 0);
      EXPECT_EQ(std::string(text, static_cast<std::size_t>(size)), std::to_string(::getpid()));
    }
    EXPECT_EQ(pool->size(), 1u);
  });
}

// Those that it has not been passed, too: each client gets an end.
TEST_F(WorkerPoolTest, ClientsOfAWorkerThatDiesAreClosed) {
  apart([this] {
    Pool pool(*this, [](Link& link) {
      while (std::optional<LinkPacket> packet = link.receive()) {
        if (packet->type == kLinkType<Connection>) return;
      }
    });
    const UniqueFd client(connect_daemon(runtime().c_str(), 10'000));
    ASSERT_TRUE(client.valid());
    char text[64];
    int passed = -1;
    EXPECT_EQ(receive_message(client.get(), text, sizeof text, &passed, 10'000), 0);
  });
}

}  // namespace
}  // namespace zazen
