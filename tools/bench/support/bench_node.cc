#include "tools/bench/support/bench_node.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr int kStatusLimitMs = 600'000;
constexpr auto kPause = std::chrono::milliseconds(2);

Status write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) return last_error(path);
  return Done{};
}

Status make_files(const BenchLayout& layout, bool all_users) {
  for (const std::string& directory : {layout.dataset(), layout.other_directory()}) {
    if (mkdir(directory.c_str(), 0755) != 0) return last_error(directory);
  }
  for (const BenchFrame& frame : bench_frames()) {
    Status written = write_file(layout.origin(frame.seq), frame_content(frame));
    if (!written) return written;
  }
  Status written =
      write_file(layout.other_directory() + "/" + layout.other_name(), "no frame\n");
  if (!written) return written;
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

Status wait_until_serving(const BenchLayout& layout, ChildProcess& daemon) {
  auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (!serves(layout, daemon.pid())) {
    if (daemon.ended()) {
      return Error{EPROTO, "zazend did not start: " + whole_file(layout.daemon_log()), {}};
    }
    if (interruption() != 0) return Error{EINTR, "zazend's start", {}};
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{ETIMEDOUT, "zazend's start: " + whole_file(layout.daemon_log()), {}};
    }
    std::this_thread::sleep_for(kPause);
  }
  return Done{};
}

}  // namespace

// Without the order of spinning disks (D17), which many virtual disks say they are.
std::string bench_configuration(const BenchLayout& layout, const std::string& frames,
                                const std::string& dataset_keys) {
  return "node = \"bench\"\nread_order = \"none\"\ncache = \"" + layout.cache() +
         "\"\nruntime = \"" + layout.runtime() + "\"\n\n[[dataset]]\npath = \"" +
         layout.dataset() + "\"\nframes = \"" + frames + "\"\n" + dataset_keys;
}

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& parent) {
  std::error_code error;
  fs::path where = fs::canonical(parent, error);
  if (error) return Error{error.value(), parent, {}};
  std::string path = (where / "zazen-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return Error{errno, parent, "--dir names a directory to work in"};
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<ChildProcess> start_daemon(const std::string& zazend, const BenchLayout& layout) {
  UniqueFd log(
      open(layout.daemon_log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return last_error(layout.daemon_log());
  Result<ChildProcess> daemon = ChildProcess::start(
      {zazend, "--config", layout.config()}, plain_environment(), {-1, log.get(), log.get()});
  if (!daemon) return daemon.error();
  if (Status serving = wait_until_serving(layout, *daemon); !serving) return serving.error();
  return daemon;
}

std::vector<std::string> shim_environment(const Programs& programs, const BenchLayout& layout) {
  std::vector<std::string> environment = plain_environment();
  environment.push_back("LD_PRELOAD=" + programs.shim);
  environment.push_back("ZAZEN_CONFIG=" + layout.config());
  return environment;
}

Result<nlohmann::json> status_of(const BenchLayout& layout) {
  Result<Client> client = Client::connect(layout.runtime(), kStatusLimitMs);
  if (!client) return client.error();
  Result<std::string> text = client->status();
  if (!text) return text.error();
  return nlohmann::json::parse(*text);
}

Status push_frames(const std::string& runtime, const BenchLayout& origin,
                   std::span<const FrameSeq> frames) {
  Result<Client> client = Client::connect(runtime);
  if (!client) return client.error();
  for (FrameSeq seq : frames) {
    UniqueFd fd(open(origin.origin(seq).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return last_error(origin.origin(seq));
    auto begun = client->start_push(origin.dataset(), origin.frame_name(seq), fd.get());
    if (!begun) return begun.error();
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Result<Client::PushAnswer> answer = client->next_push_answer();
    if (!answer) return answer.error();
    if (answer->status != 0) return Error{answer->status, "push of a frame", {}};
  }
  return Done{};
}

Result<BenchNode> BenchNode::start(const std::string& zazend, const std::string& parent,
                                   bool all_users) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make(parent);
  if (!directory) return directory.error();
  BenchLayout layout{directory->path()};
  if (Status made = make_files(layout, all_users); !made) return made.error();
  if (all_users && chmod(directory->path().c_str(), 0711) != 0) {
    return last_error(directory->path());
  }

  Result<ChildProcess> daemon = start_daemon(zazend, layout);
  if (!daemon) return daemon.error();
  BenchNode node(std::move(*directory), layout, std::move(*daemon));
  std::vector<FrameSeq> frames;
  for (const BenchFrame& frame : bench_frames()) frames.push_back(frame.seq);
  Status pushed = push_frames(layout.runtime(), layout, frames);
  if (!pushed) return pushed.error();
  return node;
}

Status BenchNode::stop() {
  if (daemon_.ended()) {
    return Error{EPROTO, "zazend ended by itself: " + whole_file(layout_.daemon_log()), {}};
  }
  if (daemon_.terminate() != 0) {
    return Error{
        EPROTO, "zazend did not stop cleanly: " + whole_file(layout_.daemon_log()), {}};
  }
  return Done{};
}

}  // namespace zazen
