#include "tools/bench/support/bench_node.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr int kStatusLimitMs = 600'000;
constexpr auto kPause = std::chrono::milliseconds(2);

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) throw last_error(path);
}

void make_files(const BenchLayout& layout, bool all_users) {
  for (const std::string& directory : {layout.dataset(), layout.other_directory()}) {
    if (mkdir(directory.c_str(), 0755) != 0) throw last_error(directory);
  }
  for (const BenchFrame& frame : bench_frames()) {
    write_file(layout.origin(frame.seq), frame_content(frame));
  }
  write_file(layout.other_directory() + "/" + layout.other_name(), "no frame\n");
  return write_file(layout.config(), (all_users ? "users = \"all\"\n" : "") +
                                         bench_configuration(layout, kFrameTemplate, {}));
}

std::string whole_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool serves(const BenchLayout& layout, pid_t pid) {
  const Table* table = map_table(layout.runtime().c_str());
  if (table == nullptr) return false;
  bool alive = table->pid == pid && daemon_is_alive(*table, monotonic_ms());
  unmap_table(table);
  return alive;
}

void wait_until_serving(const BenchLayout& layout, ChildProcess& daemon) {
  auto is_serving = [&]() -> Result<bool> {
    if (!daemon.ended()) return serves(layout, daemon.pid());
    return Error{EPROTO, "zazend did not start: " + whole_file(layout.daemon_log()), {}};
  };
  Status serving = wait_until("zazend's start", is_serving, kPause, kStartLimit);
  if (serving) return;
  if (serving.error().code != ETIMEDOUT) throw Error(serving.error());
  throw Error{ETIMEDOUT, "zazend's start: " + whole_file(layout.daemon_log()), {}};
}

}  // namespace

// Without the order of spinning disks (D17), which many virtual disks say they are.
std::string bench_configuration(const BenchLayout& layout, const std::string& frames,
                                const std::string& dataset_keys) {
  return "node = \"bench\"\nread_order = \"none\"\ncache = \"" + layout.cache() +
         "\"\nruntime = \"" + layout.runtime() + "\"\n\n[[dataset]]\npath = \"" +
         layout.dataset() + "\"\nframes = \"" + frames + "\"\n" + dataset_keys;
}

ChildProcess start_daemon(const std::string& zazend, const BenchLayout& layout) {
  UniqueFd log(
      open(layout.daemon_log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) throw last_error(layout.daemon_log());
  ChildProcess daemon = take(ChildProcess::start(
      {zazend, "--config", layout.config()}, plain_environment(), {-1, log.get(), log.get()}));
  wait_until_serving(layout, daemon);
  return daemon;
}

std::vector<std::string> shim_environment(const Programs& programs, const BenchLayout& layout) {
  std::vector<std::string> environment = plain_environment();
  environment.push_back("LD_PRELOAD=" + programs.shim);
  environment.push_back("ZAZEN_CONFIG=" + layout.config());
  return environment;
}

nlohmann::json status_of(const BenchLayout& layout) {
  Client client = take(Client::connect(layout.runtime(), kStatusLimitMs));
  std::string text = take(client.status());
  return nlohmann::json::parse(text);
}

void wait_until_reconciled(const BenchLayout& layout, const std::function<void()>& look) {
  auto is_reconciled = [&]() -> Result<bool> {
    const nlohmann::json status = status_of(layout);
    if (look) look();
    return status.at("reconciled").get<bool>();
  };
  take(wait_until("reconciliation", is_reconciled, std::chrono::milliseconds(20),
                  std::chrono::hours(1)));
}

void push_frames(const std::string& runtime, const BenchLayout& origin,
                 std::span<const FrameSeq> frames) {
  Client client = take(Client::connect(runtime));
  for (FrameSeq seq : frames) {
    UniqueFd fd(open(origin.origin(seq).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) throw last_error(origin.origin(seq));
    take(client.start_push(origin.dataset(), origin.frame_name(seq), fd.get()));
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Client::PushAnswer answer = take(client.next_push_answer());
    if (answer.status != 0) throw Error{answer.status, "push of a frame", {}};
  }
}

BenchNode BenchNode::start(const BenchPlace& place, bool all_users) {
  const BenchLayout layout{place.root};
  make_files(layout, all_users);
  if (all_users && chmod(layout.root.c_str(), 0711) != 0) throw last_error(layout.root);
  ChildProcess daemon = start_daemon(place.programs.zazend, layout);
  BenchNode node(layout, std::move(daemon));
  std::vector<FrameSeq> frames;
  for (const BenchFrame& frame : bench_frames()) frames.push_back(frame.seq);
  push_frames(layout.runtime(), layout, frames);
  return node;
}

void BenchNode::stop() {
  if (daemon_.ended()) {
    throw Error{EPROTO, "zazend ended by itself: " + whole_file(layout_.daemon_log()), {}};
  }
  if (daemon_.terminate() != 0) {
    throw Error{EPROTO, "zazend did not stop cleanly: " + whole_file(layout_.daemon_log()), {}};
  }
}

}  // namespace zazen
