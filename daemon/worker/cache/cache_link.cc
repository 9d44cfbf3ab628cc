#include "daemon/worker/cache/cache_link.h"

#include <future>

#include "daemon/process/shortage.h"

namespace zazen {

void CacheLink::run(const std::function<void(LinkPacket order)>& take) {
  despite_shortage([&] { run_until_lost(take); });
}

void CacheLink::run_until_lost(const std::function<void(LinkPacket order)>& take) {
  reader_ = std::this_thread::get_id();
  LinkPacket packet;
  for (;;) {
    writer_.send_kept(receive_.get());
    if (!receive_from_zazend(receive_.get(), &packet)) return;
    if (!packet.is_reply) {
      take(std::move(packet));
      ++orders_seen_;
      packet = {};
      continue;
    }
    Done done;
    {
      std::lock_guard lock(mutex_);
      if (auto found = waiting_.extract(packet.request)) done = std::move(found.mapped());
    }
    if (done) done(std::move(packet));
    packet = {};
  }
}

// The thread that reads replies must not wait for room in the pipe.
bool CacheLink::send(const LinkPacket& packet) {
  using Full = LinkWriter::Full;
  const bool is_reader = std::this_thread::get_id() == reader_.load();
  return writer_.send(packet, is_reader ? Full::kKeep : Full::kWait);
}

void CacheLink::send_ask(LinkPacket packet, Done done) {
  {
    std::lock_guard lock(mutex_);
    packet.request = next_++;
    waiting_.emplace(packet.request, std::move(done));
  }
  auto take_back = [&] {
    std::lock_guard lock(mutex_);
    return waiting_.extract(packet.request);
  };
  try {
    if (send(packet)) return;
  } catch (const std::bad_alloc&) {
    take_back();  // there will be no answer
    throw;
  }
  // The packet is too long, or zazend is gone.
  auto found = take_back();
  packet.body.clear();
  packet.status = EMSGSIZE;
  if (found) found.mapped()(std::move(packet));
}

LinkPacket CacheLink::exchange(LinkPacket ask) {
  auto answer = std::make_shared<std::promise<LinkPacket>>();
  send_ask(std::move(ask), [answer](LinkPacket reply) { answer->set_value(std::move(reply)); });
  return answer->get_future().get();
}

void CacheLink::send_reply(LinkTag order, int status, std::string body) {
  if (order.request == 0) return;
  LinkPacket packet;
  packet.type = order.type;
  packet.is_reply = true;
  packet.request = order.request;
  packet.status = status;
  packet.body = std::move(body);
  if (send(packet)) return;
  packet.body.clear();
  packet.status = EMSGSIZE;
  send(packet);
}

int CacheLink::begin_fill(const BeginFill& offer, BeginFill::Reply* reply) {
  return ask(offer, reply);
}

void CacheLink::finish_fill(const FinishFill& finish, std::function<void(int)> done) {
  ask_later(finish, [done = std::move(done)](LinkPacket reply) { done(reply.status); });
}

void CacheLink::finish_content(const FinishContent& finish, std::function<void(int)> done) {
  ask_later(finish, [done = std::move(done)](LinkPacket reply) { done(reply.status); });
}

}  // namespace zazen
