// OriginOrders: zazend's orders to examine the origins, on threads of the dataset. A hanging
// origin delays only the orders for its own dataset. Comparisons, which take long, have threads
// apart from the others, for which zazend waits.
#pragma once
#include <atomic>
#include <functional>

#include "bodhi/config/config.h"
#include "daemon/threads/origin_threads.h"
#include "daemon/worker/cache/cache_link.h"

namespace zazen {

class OriginOrders {
 public:
  OriginOrders(const Config& config, CacheLink& link) : config_(config), link_(link) {}

  // True if the packet was such an order.
  bool take(LinkPacket& order);
  bool is_idle() const { return under_way_ == 0; }

 private:
  template <class Order>
  bool take_as(LinkPacket& order);
  Compare::Reply obey(const Compare& order, int* status) const;
  Rights::Reply obey(const Rights& order, int* status) const;
  NameRights::Reply obey(const NameRights& order, int* status) const;
  VerifyOrigins::Reply obey(const VerifyOrigins& order, int* status) const;
  Look::Reply obey(const Look& order, int* status) const;
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;

  const Config& config_;
  CacheLink& link_;
  std::atomic<std::size_t> under_way_ = 0;
  OriginThreads comparisons_{2}, looks_{8};  // single files may hang
};

}  // namespace zazen
