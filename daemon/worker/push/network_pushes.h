// NetworkPushes: what the worker with the rights of nobody does: it takes pushes over the
// network, and asks zazend for the rest. The keys are zazend's, and are asked for again every
// second.
#pragma once
#include "daemon/worker/cache/cache_link.h"
#include "daemon/worker/push/push_listener.h"

namespace zazen {

class NetworkPushes : private PushDesk {
 public:
  NetworkPushes(const Config& config, CacheLink& link, std::uint16_t methods, uid_t own_uid)
      : link_(link), listener_(config, *this, keys_, counts_, methods, own_uid) {}

  void learn_keys();
  void add(UniqueFd socket) { listener_.add(std::move(socket)); }
  void add_figures(WorkerFigures* figures) const;
  void stop(std::chrono::milliseconds limit) { listener_.stop(limit); }

 private:
  void begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) override;
  void finish(std::uint32_t dataset, const PushedFile& file, Finished done) override;
  void abandon(std::uint64_t ticket, int status) override;
  void flush() override;
  Result<std::string> natives(std::uint32_t dataset) override;
  int take_notice(std::string_view notice) override;
  bool is_disk_usable() override;
  Result<MungeSecret> decode_munge(const std::string& credential) override;

  using Clock = std::chrono::steady_clock;
  struct Beginning {  // one message
    BeginPushes ask;
    std::vector<Begun> done;  // one for each file
  };
  struct Finishing {
    FinishPushes ask;
    std::vector<Finished> done;
  };
  // Files of a dataset that are complete. While zazend stores some of them the next ones wait
  // for its answer, so that they go in one message and are flushed together.
  struct Lane {
    Finishing next;
    std::size_t under_way = 0;  // messages
    Clock::time_point sent_at;
  };
  void send(Beginning beginning);
  void send(Finishing finishing);
  Finishing take_next(std::uint32_t dataset, Lane& lane);  // mutex_ is held
  void end_message(std::uint32_t dataset);

  CacheLink& link_;
  std::mutex mutex_;
  std::vector<Beginning> beginnings_;  // until flush()
  std::map<std::uint32_t, Lane> lanes_;
  KeyRing keys_;
  PushCounts counts_;
  PushListener listener_;
};

}  // namespace zazen
