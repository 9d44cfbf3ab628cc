#include "daemon/worker/origins/origin_orders.h"

#include <chrono>

#include "daemon/process/shortage.h"
#include "daemon/worker/origins/comparison.h"
#include "daemon/worker/origins/origin.h"
#include "daemon/worker/origins/origin_way.h"

namespace zazen {
namespace {

// The limit for several looks together, because zazend waits; the rest is unknown.
constexpr std::chrono::milliseconds kLooksLimit(250);

}  // namespace

bool OriginOrders::take(LinkPacket& order) {
  return take_as<Compare>(order) || take_as<Rights>(order) || take_as<NameRights>(order) ||
         take_as<VerifyOrigins>(order) || take_as<Look>(order);
}

template <class Order>
bool OriginOrders::take_as(LinkPacket& packet) {
  if (packet.type != kLinkType<Order>) return false;
  Order order;
  if (!decode_link_body(packet.body, &order) || order.dataset >= config_.datasets.size()) {
    link_.refuse(packet.tag(), EINVAL);
    return true;
  }
  auto shared = std::make_shared<std::pair<LinkTag, Order>>(packet.tag(), std::move(order));
  auto work = [this, shared] {
    int status = 0;
    LinkReply<Order> reply;
    if (!despite_shortage([&] { reply = obey(shared->second, &status); })) status = ENOMEM;
    if (status == 0) {
      link_.reply<Order>(shared->first, std::move(reply));
    } else {
      link_.refuse(shared->first, status);
    }
    --under_way_;
  };
  ++under_way_;
  OriginThreads& lanes = std::is_same_v<Order, Compare> ? comparisons_ : looks_;
  if (!lanes.post(shared->second.dataset, work)) {
    --under_way_;
    link_.refuse(shared->first, EAGAIN);
  }
  return true;
}

std::string OriginOrders::name_of(std::uint32_t dataset, FrameSeq seq) const {
  char name[kMaxTemplate + 32];
  return {name, config_.datasets[dataset].name.format(seq, name, sizeof name)};
}

Compare::Reply OriginOrders::obey(const Compare& order, int* status) const {
  Compare::Reply reply;
  *status = compare_with_origins(config_.datasets[order.dataset], order.copies, order.threads,
                                 &reply.outcomes);
  return reply;
}

Rights::Reply OriginOrders::obey(const Rights& order, int*) const {
  const auto rights = rights_at_origin(config_.datasets[order.dataset]);
  return {rights.has_value(), rights.value_or(RightsAtOrigin())};
}

NameRights::Reply OriginOrders::obey(const NameRights& order, int*) const {
  NameRights::Reply reply;
  for (FrameSeq seq : order.frames) {
    reply.rights.push_back(
        frame_rights(config_.datasets[order.dataset], name_of(order.dataset, seq)));
  }
  return reply;
}

VerifyOrigins::Reply OriginOrders::obey(const VerifyOrigins& order, int*) const {
  VerifyOrigins::Reply reply;
  for (const OriginToVerify& frame : order.frames) {
    ReachedDirectories reached;
    const UniqueFd named =
        find_named(config_.datasets[order.dataset], name_of(order.dataset, frame.seq), O_PATH,
                   config_.all_users ? &reached : nullptr);
    struct stat now = {};
    // A file that this user may not open counts as one without a writer.
    const bool is_current = named.valid() && ::fstat(named.get(), &now) == 0 &&
                            same_file(frame.identity, now) && reached == frame.reached &&
                            !(frame.is_fetched && has_writer(named.get()));
    reply.are_current.push_back(is_current ? 1 : 0);
  }
  return reply;
}

Look::Reply OriginOrders::obey(const Look& order, int*) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Look::Reply reply;
  for (const ContentToLook& content : order.contents) {
    if (Clock::now() - begin > kLooksLimit) break;
    reply.looks.push_back(look_at_origin(config_.datasets[order.dataset],
                                         name_of(order.dataset, content.seq), content.bytes,
                                         config_.all_users));
  }
  return reply;
}

}  // namespace zazen
