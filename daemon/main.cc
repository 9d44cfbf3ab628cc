// zazend: keeps copies of frames on this node's disk and serves the programs of the node.
// main() is the table of contents; each step is a file of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "bodhi/config/cache_place.h"
#include "bodhi/config/config.h"
#include "bodhi/http/loopback_address.h"
#include "daemon/origin/followed_links.h"
#include "daemon/pool/forker.h"
#include "daemon/pool/worker_pool.h"
#include "daemon/process/crash_report.h"
#include "daemon/process/daemonize.h"
#include "daemon/process/instance_lock.h"
#include "daemon/process/log.h"
#include "daemon/process/mapped_file.h"
#include "daemon/process/node_identity.h"
#include "daemon/process/notify.h"
#include "daemon/process/secure_directory.h"
#include "daemon/process/serving_priority.h"
#include "daemon/process/shortage.h"
#include "daemon/process/start_error.h"
#include "daemon/service/more_datasets.h"
#include "daemon/service/publisher.h"
#include "daemon/service/push_sockets.h"
#include "daemon/service/reload.h"
#include "daemon/service/service.h"
#include "daemon/service/start_check.h"
#include "daemon/worker/worker.h"

namespace zazen {
namespace {

constexpr int kFailed = 1, kBadConfiguration = 2;
constexpr std::int64_t kLookForDirectoriesMs = 60'000;

[[noreturn]] void fail(const Error& error, int exit_status) {
  fmt::print(stderr, "zazend: error: {}\n", error.context);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
  std::exit(exit_status);
}

void require(const Status& status) {
  if (!status.ok()) fail(status.error(), kFailed);
}

template <class T>
T require(Result<T> result) {
  if (!result.ok()) fail(result.error(), kFailed);
  return std::move(*result);
}

// A shell may export the shim for all programs. Behind it, changes of our copies would reach
// the origin. So this process executes itself again, with the shim disabled.
void step_out_of_the_shim(char** argv) {
  const char* preloaded = ::getenv("LD_PRELOAD");
  if (preloaded == nullptr || std::strstr(preloaded, "libzazen") == nullptr) return;
  if (const char* done = ::getenv("ZAZEN_DISABLE"); done != nullptr && *done == '1') return;
  ::setenv("ZAZEN_DISABLE", "1", 1);
  std::error_code error;
  ::execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
}

Result<Config> load(const std::optional<std::string>& file) {
  Result<std::string> found = find_config(file);
  if (!found.ok()) return found.error();
  return load_config(std::filesystem::absolute(*found), follow_in_a_child);
}

// SIGTERM, SIGINT and SIGHUP are read from a descriptor; every thread inherits the mask.
UniqueFd block_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGINT);
  sigaddset(&awaited, SIGHUP);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGIO, SIG_IGN);  // has_writer() causes it
  ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  return UniqueFd(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool reload_is_asked_for(int signal_fd) {
  signalfd_siginfo info = {};
  return ::read(signal_fd, &info, sizeof info) != sizeof info || info.ssi_signo == SIGHUP;
}

// The second signal ends the process at once. The first one is read from the descriptor,
// because otherwise it would count as the second.
void unblock_signals(int signal_fd) {
  signalfd_siginfo info;
  while (::read(signal_fd, &info, sizeof info) > 0) {
  }
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
}

// Raises the limit of descriptors to its maximum, for zazend and the workers. A client has one,
// and a queued fill up to two.
void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Programs write to files that they map from this directory.
void warn_of_copies_on_write(const std::string& runtime) {
  UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!copies_on_write(directory.get())) return;
  log_line(LogLevel::kWarn, "runtime_copies_on_write",
           {{"runtime", runtime},
            {"what", "when this disk is full, or a quota used up, programs may end by SIGBUS"},
            {"hint", "put it on a tmpfs, such as /run"}});
}

Result<UniqueFd> open_metrics_socket(const Config& config) {
  Result<UniqueFd> socket = listen_on_loopback(config.metrics);
  if (socket) return socket;
  return Error{socket.error().code, "metrics: " + socket.error().message(),
               "is another zazend there? ss -ltnp"};
}

std::vector<std::string> paths_of(const std::vector<DatasetConfig>& datasets) {
  std::vector<std::string> paths;
  for (const DatasetConfig& dataset : datasets) paths.push_back(dataset.path);
  return paths;
}

// --check-config: 0, or 1 with the reason.
int check(const std::optional<std::string>& file) {
  Result<Config> config = load(file);
  if (!config.ok()) fail(config.error(), kFailed);
  add_datasets_of_patterns(expand_in_a_child(paths_of(config->patterns)), &*config,
                           follow_in_a_child, &*config);
  require(check_start(*config));
  if (const std::string why = describe_poor_place(config->cache); !why.empty()) {
    fmt::print(stderr, "zazend: warning: cache directory {}: {}\nhint: {}\n", config->cache,
               why, kPoorPlaceHint);
  }
  const std::size_t datasets = config->datasets.size();
  fmt::print("{}: ok, {} dataset{}\n", config->file, datasets, datasets == 1 ? "" : "s");
  return 0;
}

int run(const std::optional<std::string>& file, bool in_background) {
  install_crash_report();
  Result<Config> loaded = load(file);
  if (!loaded.ok()) fail(loaded.error(), kBadConfiguration);
  Config config = std::move(*loaded);
  require(check_users(config));
  ::umask(022);
  std::optional<Background> background;
  if (in_background) background = Background::enter();
  if (::chdir("/") != 0) fail(failed_call("chdir /"), kFailed);
  UniqueFd signals = block_signals();
  raise_descriptor_limit();

  // Refuse to run from a directory that another user could rearrange under us.
  const mode_t reach = directory_mode(config);
  require(require_secure_directory(config.runtime, "runtime directory", reach));
  require(require_secure_directory(config.cache, "cache directory", reach));

  // The forker starts workers. It has a single thread and nothing that zazend opens later.
  Forker forker = require(Forker::start(
      [&config](UniqueFd receive, UniqueFd send) {
        run_worker(config, std::move(receive), std::move(send));
      },
      in_background ? config.runtime + "/log" : ""));

  // This comes after the forker, so that no worker has the key in its memory.
  if (!config.listen.empty()) {
    Status can_listen = check_listen(config);
    if (!can_listen.ok()) fail(can_listen.error(), kBadConfiguration);
  }

  warn_of_copies_on_write(config.runtime);

  // Can the cache's disk carry copies at all?
  CacheDisk disk = require(CacheDisk::open(config.cache));

  if (config.all_users) {
    require(check_access_lists(disk.make_temporary(disk.state_fd()).fd(), config.cache));
  }

  // One daemon for each cache and each runtime directory.
  InstanceLock cache_lock = require(
      InstanceLock::take(config.cache + "/.zazen/lock", "cache directory " + config.cache));
  InstanceLock runtime_lock = require(
      InstanceLock::take(config.runtime + "/lock", "runtime directory " + config.runtime));

  // Datasets that users have added, and the directories that paths with '*' stand for.
  UserDatasets user_datasets(disk.state_fd());
  add_datasets_of_users(user_datasets, follow_in_a_child, &config);
  add_datasets_of_patterns(expand_in_a_child(paths_of(config.patterns)), &config,
                           follow_in_a_child, &config);

  // Believe what a clean stop left, or else the logs. The files are compared while the daemon
  // serves.
  NodeId node = require(load_or_make_node_id(disk.state_fd()));
  dev_t cache_dev = disk.dev();
  std::unique_ptr<Store> store = require(Store::open(config, std::move(disk)));

  // The directories for the ranks' views and for the reports of jobs.
  std::string jobs = config.runtime + "/" + kJobsDirectory;
  std::string reports = config.runtime + "/" + kReportsDirectory;
  for (const std::string& directory : {jobs, reports}) {
    require(config.all_users ? require_shared_directory(directory, "jobs directory")
                             : require_secure_directory(directory, "jobs directory"));
  }

  // The table tells programs to use it once the socket is there and nothing else delays them.
  std::unique_ptr<Publisher> publisher =
      require(Publisher::publish(config, node, cache_dev, store->instance()));
  Service service(config, *store, *publisher);
  std::unique_ptr<WorkerPool> pool = require(WorkerPool::listen(
      config.runtime, config.all_users, std::move(forker), service.owner_of_workers()));

  // SIGHUP and zazenctl reload apply the changes of the configuration.
  Reload reload(config, *store, *publisher, service, user_datasets,
                in_background ? config.runtime + "/log" : "");
  service.start(*pool);

  // A worker of its own takes the pushes of other machines (start_listener()).
  if (!config.listen.empty())
    service.listen(require(open_push_sockets(config, service.keys())));

  // Another one answers requests for metrics.
  if (!config.metrics.empty()) service.serve_metrics(require(open_metrics_socket(config)));

  publisher->serve();
  notify_service_manager("READY=1");
  if (background) background->ready(config.runtime + "/log");
  StoreUsage usage = store->usage();
  log_line(LogLevel::kInfo, "serving",
           {{"version", ZAZEN_VERSION},
            {"node", config.node},
            {"cache", config.cache},
            {"runtime", config.runtime},
            {"frames", std::to_string(usage.files)},
            {"bytes", std::to_string(usage.bytes)},
            {"last_stop", store->stopped_cleanly() ? "clean" : "unclean"}});

  raise_serving_priority();
  auto beat = [&] {
    publisher->beat([&] { service.doubt_all(); });
    notify_serving();
  };
  std::int64_t next_look_ms = 0;  // at once: an origin may not have answered the start
  auto tick = [&] {
    service.tick();
    if (monotonic_ms() < next_look_ms) return;
    next_look_ms = monotonic_ms() + kLookForDirectoriesMs;
    despite_shortage([&] { reload.post_look_for_directories(); });
  };
  pool->run(signals.get(), beat, tick);
  while (!pool->has_failed() && reload_is_asked_for(signals.get())) {
    despite_shortage([&] { reload.post(); });
    pool->run(signals.get(), beat, tick);
  }

  // The stop: accept no new clients, commit complete copies, send the answers that are due.
  unblock_signals(signals.get());
  notify_service_manager("STOPPING=1");
  publisher->withdraw();
  pool->withdraw();
  bool trusted = service.trusts_all();
  reload.stop();
  service.stop();
  store->stop_cleanly(trusted && service.trusts_all());  // a reload may have ended meanwhile
  ::rmdir(jobs.c_str());
  log_line(LogLevel::kInfo, "stopped");
  const int status = pool->has_failed() ? kFailed : 0;
  // A client may block the thread that closes its connection for as long as it likes.
  if (pool->is_closing()) {
    ::unlink((config.runtime + "/" + kIndexFile).c_str());
    ::_exit(status);
  }
  return status;
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  zazen::step_out_of_the_shim(argv);
  CLI::App app{"zazend keeps copies of trajectory frames on this node's disk."};
  app.set_version_flag("--version", "zazend " ZAZEN_VERSION);
  std::optional<std::string> config;
  bool in_background = false, is_check = false;
  app.add_option("--config", config,
                 "configuration file (default: $ZAZEN_CONFIG, ~/.config/zazen/zazen.toml, "
                 "/etc/zazen/zazen.toml)");
  CLI::Option* background =
      app.add_flag("--daemonize", in_background,
                   "go into the background; returns 0 when it serves. The log is RUNTIME/log");
  app.add_flag("--check-config", is_check,
               "check the configuration and what a start with it needs, and start nothing")
      ->excludes(background);
  app.footer("Example:\n  zazend --config zazen.toml --check-config");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : zazen::kBadConfiguration;
  }
  try {
    return is_check ? zazen::check(config) : zazen::run(config, in_background);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    zazen::fail(
        {EAGAIN,
         fmt::format("the system refuses a thread or a process: {}", error.code().message()),
         "raise the limit: ulimit -u, or LimitNPROC= and TasksMax= of the unit"},
        zazen::kFailed);
  } catch (const std::bad_alloc&) {
    zazen::fail({ENOMEM, "the system refuses memory", "raise the limit: ulimit -v"},
                zazen::kFailed);
  }
}
