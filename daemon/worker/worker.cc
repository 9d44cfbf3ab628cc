#include "daemon/worker/worker.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "bodhi/config/expand_paths.h"
#include "bodhi/lean/frames/view.h"
#include "bodhi/push/munge_credential.h"
#include "daemon/process/crash_report.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/clients/client_service.h"
#include "daemon/worker/clients/server.h"
#include "daemon/worker/job_sweep.h"
#include "daemon/worker/metrics_server.h"
#include "daemon/worker/origins/origin_orders.h"
#include "daemon/worker/push/network_pushes.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargestQueue = 4096, kMostClients = 1024;
// A simulation may write a frame only every few minutes.
constexpr std::chrono::seconds kIdle(15), kIdleReader(600);
constexpr std::chrono::milliseconds kStopLimit(300);
constexpr std::chrono::milliseconds kExpandSlice(200);  // zazend asks again, and can stop

std::size_t descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

class Worker {
 public:
  Worker(const Config& config, UniqueFd receive, UniqueFd send)
      : config_(config),
        link_(std::move(receive), std::move(send)),
        service_(config_, link_, std::min(kLargestQueue, descriptor_limit() / 4),
                 !config.all_users || ::geteuid() == 0),
        orders_(config_, link_),
        news_(config.runtime, config.all_users ? own_reader() : kReadsForAll, service_) {}

  void run() {
    Result<std::unique_ptr<Server>> server =
        Server::make(service_, std::min(kMostClients, descriptor_limit() / 2));
    if (!server) return;
    server_ = std::move(*server);
    std::thread([this] {
      CrashStack crash_stack;
      link_.run([this](LinkPacket order) {
        if (!despite_shortage([&] { take(order); })) link_.refuse(order.tag(), ENOMEM);
      });
      ::_exit(0);  // zazend is gone
    }).detach();
    server_->run([this] { tick(); });
    if (NetworkPushes* listener = listener_) listener->stop(kStopLimit);
    service_.stop(kStopLimit);
    server_->send_last_answers();
    if (stop_order_) link_.reply<Stop>(*stop_order_, {});
  }

 private:
  // On the link's thread.
  void take(LinkPacket& packet) {
    if (orders_.take(packet)) return;
    if (Connection order; is(packet, &order)) {
      if (!has_clients_.exchange(true)) news_.begin();
      server_->add(packet.take_file(), order.pid);
    } else if (ProvedConnection proved; is(packet, &proved)) {
      server_->add_proved(packet.take_file(), {proved.binding, proved.digest});
      link_.reply<ProvedConnection>(packet.tag(), {});
    } else if (WatchWriters watch; is(packet, &watch) && is_dataset(watch.dataset)) {
      service_.watch_writers(watch.dataset, watch.seq, [this, ask = packet.tag()](int code) {
        code == 0 ? link_.reply<WatchWriters>(ask, {}) : link_.refuse(ask, code);
      });
    } else if (WatchChanges changes; is(packet, &changes) && is_dataset(changes.dataset)) {
      service_.watch_changes(changes.dataset, changes.seq);
    } else if (Configure configuration; is(packet, &configuration)) {
      configure(configuration, packet.tag());
    } else if (packet.type == kLinkType<Problems>) {
      errands_.post(
          [this, ask = packet.tag()] { link_.reply<Problems>(ask, service_.find_problems()); });
    } else if (FollowPaths follow; is(packet, &follow)) {
      errands_.post([this, ask = packet.tag(), follow] {
        link_.reply<FollowPaths>(ask, {follow_links(follow.paths)});
      });
    } else if (ExpandPath expand; is(packet, &expand)) {
      expansions_.post([this, ask = packet.tag(), expand] {
        ExpandedPath expanded = std::move(expand_paths({expand.pattern}, kExpandSlice).front());
        link_.reply<ExpandPath>(ask, {expanded.is_known, std::move(expanded.paths)});
      });
    } else if (packet.type == kLinkType<ReportFigures>) {
      errands_.post([this, ask = packet.tag()] { link_.reply<ReportFigures>(ask, figures()); });
    } else if (packet.type == kLinkType<SweepJobs>) {
      errands_.post([this, ask = packet.tag()] {
        const std::string runtime = config_.runtime + "/";
        sweep_jobs(runtime + kJobsDirectory, runtime + kReportsDirectory);
        prune_reports(runtime + kReportsDirectory);
        link_.reply<SweepJobs>(ask, {});
      });
    } else if (UntoldChanges untold; is(packet, &untold)) {
      service_.take_untold(untold.datasets);
    } else if (UsedDatasets used; is(packet, &used)) {
      service_.take_used(used.datasets);
    } else if (TellPeers news; is(packet, &news)) {
      errands_.post([this, news] { service_.tell_peers(news); });
    } else if (Listen listen; is(packet, &listen)) {
      take_writers(listen, packet.take_file());
    } else if (packet.type == kLinkType<ServeMetrics>) {
      if (!serves_metrics_.exchange(true)) metrics_.begin(packet.take_file());
    } else if (packet.type == kLinkType<WriteLog>) {
      if (const UniqueFd log = packet.take_file(); log.valid()) {
        ::dup2(log.get(), STDERR_FILENO);
      }
    } else if (Munge munge; is(packet, &munge)) {
      munge_.post([this, ask = packet.tag(), munge] {
        Result<MungeSecret> decoded = decode_munge_credential(
            munge.credential, munge.is_of_request ? MungeUse::kRequest : MungeUse::kSession);
        if (!decoded) return link_.refuse(ask, decoded.error().code);
        MungeReply reply;
        reply.uid = decoded->uid;
        reply.secret.assign(reinterpret_cast<const char*>(decoded->secret.data()),
                            decoded->secret.size());
        link_.reply<Munge>(ask, std::move(reply));
      });
    } else if (packet.type == kLinkType<Stop>) {
      stop_order_ = packet.tag();
      server_->stop();
    } else {
      link_.refuse(packet.tag(), EINVAL);
    }
  }

  template <class Order>
  static bool is(const LinkPacket& packet, Order* out) {
    return packet.type == kLinkType<Order> && decode_link_body(packet.body, out);
  }
  bool is_dataset(std::uint32_t dataset) const { return dataset < config_.datasets.size(); }

  void configure(const Configure& order, LinkTag ask) {
    for (std::size_t i = 0; i < order.datasets.size(); ++i) {
      const DatasetKeys& keys = order.datasets[i];
      if (i >= config_.datasets.size()) {
        DatasetConfig added;
        added.path = keys.path;
        added.frames = keys.frames;
        const char* why = "";
        added.also = keys.also;
        if (FrameName::parse(keys.frames.data(), keys.frames.size(), &added.name, &why)) {
          added.name.add_also(keys.also.data(), keys.also.size(), &why);
        }
        config_.datasets.push_back(added);
      }
      config_.datasets[i].push = keys.is_pushed;
      config_.datasets[i].removed = keys.is_removed;
    }
    config_.has_peers = order.has_peers;
    Config next = config_;
    next.peers = order.peers;
    next.writer_memory_bytes = order.writer_memory_bytes;
    next.writer_timeout_ms = order.writer_timeout_ms;
    const bool is_first = !std::exchange(is_configured_, true);
    if (is_first && order.peers == config_.peers) return;
    if (is_first) config_.peers = order.peers;  // no notice has been sent yet
    errands_.post([this, next, ask] {
      if (NetworkPushes* listener = listener_) listener->learn_keys();
      service_.renew_peers(next);
      link_.reply<Configure>(ask, {});
    });
  }

  // On the link's thread.
  void take_writers(const Listen& listen, UniqueFd socket) {
    if (listener_ == nullptr) {
      listener_ = new NetworkPushes(config_, link_, listen.methods, listen.own_uid);
    }
    auto shared = std::make_shared<UniqueFd>(std::move(socket));
    errands_.post([listener = listener_.load(), shared] {
      listener->learn_keys();
      listener->add(std::move(*shared));
    });
  }

  WorkerFigures figures() {
    WorkerFigures figures = service_.figures();
    if (const NetworkPushes* listener = listener_) listener->add_figures(&figures);
    return figures;
  }

  // On the server's thread, once a second.
  void tick() {
    service_.tick();
    NetworkPushes* listener = listener_;
    if (listener != nullptr) listener->learn_keys();
    link_.tell(figures());
    if (listener != nullptr || serves_metrics_) return;  // these never leave
    const std::uint64_t seen = link_.orders_seen();
    const bool is_idle = server_->is_idle() && service_.is_idle() && orders_.is_idle() &&
                         seen == std::exchange(last_seen_, seen);
    if (!is_idle) idle_since_ = Clock::now();
    if (has_clients_) news_.begin();  // another worker of this user may have left
    if (Clock::now() - idle_since_ < (news_.has_read() ? kIdleReader : kIdle)) return;
    if (news_.leave() && link_.ask(Leave{seen}) == 0) ::_exit(0);
    idle_since_ = Clock::now();
  }

  Config config_;
  CacheLink link_;
  ClientService service_;
  OriginOrders orders_;
  NewsReader news_;
  std::atomic<bool> has_clients_ = false;
  std::unique_ptr<Server> server_;
  std::atomic<NetworkPushes*> listener_ = nullptr;
  MetricsServer metrics_{link_};
  std::atomic<bool> serves_metrics_ = false;
  std::optional<LinkTag> stop_order_;
  bool is_configured_ = false;
  std::uint64_t last_seen_ = 0;
  Clock::time_point idle_since_ = Clock::now();
  WorkQueue errands_{WorkQueue::OnDemand{1}}, munge_{WorkQueue::OnDemand{64}};
  WorkQueue expansions_{WorkQueue::OnDemand{1}};  // of paths with '*'
};

}  // namespace

// The worker is never destroyed, because its threads may still use it.
void run_worker(const Config& config, UniqueFd receive, UniqueFd send) {
  ::mallopt(M_ARENA_MAX, 2);  // arenas of malloc, which take memory for each thread
  // Memory for content is kept and used again, instead of returned to the kernel each time.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  auto* worker = new Worker(config, std::move(receive), std::move(send));
  until_no_shortage([worker] { worker->run(); });
}

}  // namespace zazen
