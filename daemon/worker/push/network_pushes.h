// NetworkPushes: what the worker with the rights of nobody does: it takes pushes over the
// network, and asks zazend for the rest. The keys are zazend's, and are asked for again every
// second.
#pragma once
#include "daemon/worker/cache/cache_link.h"
#include "daemon/worker/push/push_listener.h"

namespace zazen {

class NetworkPushes : public PushDesk {
 public:
  NetworkPushes(const Config& config, CacheLink& link, std::uint16_t methods, uid_t own_uid)
      : link_(link), listener_(config, *this, keys_, counts_, methods, own_uid) {}

  void learn_keys();
  void add(UniqueFd socket) { listener_.add(std::move(socket)); }
  void add_figures(WorkerFigures* figures) const;
  void stop(std::chrono::milliseconds limit) { listener_.stop(limit); }

  // For its sessions.
  void begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) override;
  void finish(std::uint32_t dataset, const PushedFile& file, Finished done) override;
  void abandon(std::uint64_t ticket, int status) override;
  void flush() override;
  Result<std::string> natives(std::uint32_t dataset) override;
  int take_notice(std::string_view notice) override;
  bool is_disk_usable() override;
  Result<MungeSecret> decode_munge(const std::string& credential) override;
  Result<UniqueFd> connect_as(const std::string& credential, const Bytes32& binding) override;

 private:
  using Clock = std::chrono::steady_clock;
  // One message to zazend, and the sessions that wait for its answer, one for each file. If
  // there is none, because memory was refused on any thread, the last owner of the message
  // tells them ENOMEM.
  struct Beginning {
    Beginning(NetworkPushes& pushes, std::uint32_t dataset, std::uint64_t bytes);
    ~Beginning() { settle(ENOMEM, {}); }
    void settle(int code, BeginPushes::Reply reply);

    NetworkPushes& desk;
    BeginPushes ask;
    std::vector<Begun> done;
  };
  struct Finishing {
    Finishing(NetworkPushes& pushes, std::uint32_t dataset);
    ~Finishing() { settle(ENOMEM, {}); }
    void settle(int code, const std::vector<std::int32_t>& statuses);

    NetworkPushes& desk;
    FinishPushes ask;
    std::vector<Finished> done;
    bool is_under_way = false;
  };
  using BeginningPointer = std::shared_ptr<Beginning>;
  using FinishingPointer = std::shared_ptr<Finishing>;
  // Files of a dataset that are complete. While zazend stores some of them the next ones wait
  // for its answer, so that they go in one message and are flushed together.
  struct Lane {
    FinishingPointer next;
    std::size_t under_way = 0;  // messages
    Clock::time_point sent_at;
  };
  void send(BeginningPointer message);
  void send(FinishingPointer message);
  FinishingPointer take_next(Lane& lane);  // null: there is none; mutex_ is held
  void end_message(std::uint32_t dataset);

  CacheLink& link_;
  std::mutex mutex_;
  std::vector<BeginningPointer> beginnings_;  // until flush()
  std::map<std::uint32_t, Lane> lanes_;
  KeyRing keys_;
  PushCounts counts_;
  PushListener listener_;
};

}  // namespace zazen
