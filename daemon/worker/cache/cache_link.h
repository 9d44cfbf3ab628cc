// CacheLink: a worker's end of the link to zazend. Any thread may ask; run() reads replies and
// orders. It ends when zazend is gone, or when there is no memory for a packet: a thread would
// wait for that packet for ever, and zazend soon starts another worker.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/link/link.h"
#include "daemon/worker/cache/cache.h"

namespace zazen {

class CacheLink : public Cache {
 public:
  CacheLink(UniqueFd receive, UniqueFd send)
      : receive_(std::move(receive)), send_(std::move(send)), writer_(send_.get()) {}

  // Calls `take` with each order, on this thread.
  void run(const std::function<void(LinkPacket order)>& take);
  // The number of orders that were taken.
  std::uint64_t orders_seen() const { return orders_seen_; }

  // Waits for the answer: 0, or an errno.
  template <class Ask>
  int ask(Ask ask, LinkReply<Ask>* reply) {
    LinkPacket packet = exchange(packet_of(std::move(ask)));
    return read(packet, reply);
  }
  // Decodes a packet from zazend: 0 and the reply, or an errno.
  template <class Reply>
  static int read(LinkPacket& packet, Reply* reply) {
    if (packet.status != 0) return packet.status;
    if (!decode_link_body(packet.body, reply)) return EBADMSG;
    if constexpr (requires { reply->files; }) reply->files = std::move(packet.files);
    if constexpr (requires { reply->file; }) reply->file = packet.take_file();
    return 0;
  }
  template <class Ask>
  int ask(Ask ask) {
    LinkReply<Ask> reply;
    return this->ask(std::move(ask), &reply);
  }
  // `done` gets the reply, on run()'s thread.
  using Done = std::function<void(LinkPacket reply)>;
  template <class Ask>
  void ask_later(Ask ask, const Done& done) {
    send_ask(packet_of(std::move(ask)), done);
  }
  // Sends an ask without waiting for its result.
  template <class Ask>
  void tell(Ask ask) {
    send(packet_of(std::move(ask)));
  }
  template <class Order>
  void reply(LinkTag order, LinkReply<Order> answer) {
    send_reply(order, 0, encode_link_body(answer));
  }
  void refuse(LinkTag order, int status) { send_reply(order, status, {}); }

  int begin_fill(const BeginFill& offer, BeginFill::Reply* reply) override;
  int more_room(const MoreRoom& more) override { return ask(more); }
  int adopt(const Adopt& adopt) override { return ask(adopt); }
  void finish_fill(const FinishFill& finish, std::function<void(int)> done) override;
  void finish_content(const FinishContent& finish, std::function<void(int)> done) override;
  void abandon_fill(const AbandonFill& abandon) override { tell(abandon); }
  void note_failed(const FillFailed& failed) override { tell(failed); }

 private:
  // The thread that reads replies must not wait for space in the pipe.
  bool send(const LinkPacket& packet);
  void run_until_lost(const std::function<void(LinkPacket order)>& take);
  LinkPacket exchange(LinkPacket ask);
  void send_ask(LinkPacket packet, Done done);
  void send_reply(LinkTag order, int status, std::string body);

  const UniqueFd receive_, send_;
  LinkWriter writer_;
  std::atomic<std::thread::id> reader_ = {};  // run()'s thread
  std::atomic<std::uint64_t> orders_seen_ = 0;
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Done> waiting_;
};

}  // namespace zazen
