// Frames that programs open for writing, in a worker whose link the test holds.
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "daemon/worker/clients/client_service.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using namespace std::chrono_literals;

class ClientWritersTest : public Scratch {
 protected:
  void SetUp() override {
    config_.datasets[0].push = true;
    Result<LinkEnds> ends = make_link();
    ASSERT_TRUE(ends.ok());
    send_ = std::move(ends->send);
    receive_ = std::move(ends->receive);
    link_ = std::make_unique<CacheLink>(std::move(ends->worker_receive),
                                        std::move(ends->worker_send));
    replies_ = std::thread([this] { link_->run([](const LinkPacket&) {}); });
    zazend_ = std::thread([this] { answer_asks(); });
    service_ = std::make_unique<ClientService>(config_, *link_, 64, true);
  }
  void TearDown() override {
    service_->stop(30s);
    ::shutdown(send_.get(), SHUT_WR);
    replies_.join();
    service_.reset();
    link_.reset();
    zazend_.join();
  }

  std::function<void()> on_suspend_;
  std::promise<void> push_begins_;  // the worker wants the key
  std::unique_ptr<ClientService> service_;

 private:
  // zazend holds no copy.
  void answer_asks() {
    LinkReader reader;
    LinkPacket ask;
    for (;;) {
      const LinkReader::Got got = reader.next(receive_.get(), &ask);
      if (got == LinkReader::Got::kNothing) {
        struct pollfd more = {receive_.get(), POLLIN, 0};
        ::poll(&more, 1, -1);
      } else if (got != LinkReader::Got::kPacket) {
        return;
      } else if (ask.request != 0) {
        LinkPacket reply;
        reply.type = ask.type;
        reply.is_reply = true;
        reply.request = ask.request;
        reply.status = ENOENT;
        if (ask.type == kLinkType<Suspend>) {
          on_suspend_();
          reply.status = 0;
          Suspend::Reply none;
          reply.body = encode_link_body(none);
        }
        if (ask.type == kLinkType<PushKeyAsk>) push_begins_.set_value();
        EXPECT_EQ(send_to_worker(send_.get(), reply), 0);
      }
    }
  }

  UniqueFd send_, receive_;
  std::unique_ptr<CacheLink> link_;
  std::thread replies_, zazend_;
};

TEST_F(ClientWritersTest, AFrameThatCouldNotBeWatchedIsPushed) {
  const std::string away = directory() + "/away";
  write_file(origin("f7"), "content");
  on_suspend_ = [&] { std::filesystem::rename(origin("f7"), away); };
  service_->take_news({0, 7, kNewsOpened},
                      [&] { std::filesystem::rename(away, origin("f7")); });
  EXPECT_EQ(push_begins_.get_future().wait_for(30s), std::future_status::ready);
}

}  // namespace
}  // namespace zazen
