// The real zazend as a child process, with a configuration file in a Scratch directory.
#pragma once
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {

class ZazendTest : public Scratch {
 protected:
  // A sanitizer's report of a worker shows in the log only: the worker is replaced.
  void TearDown() override {
    if (pid_ > 0) {
      EXPECT_EQ(end(SIGTERM), 0) << log();
    }
    EXPECT_EQ(log().find("Sanitizer: "), std::string::npos) << log();
  }
  std::string log() const { return read_file(directory() + "/log"); }

  void write_config(const std::string& extra = "", const std::string& frames = "f{seq}",
                    const std::string& dataset_extra = "") {
    write_file(config_file(), "node = \"n0\"\ncache = \"" + cache() + "\"\nruntime = \"" +
                                  runtime() + "\"\n" + extra + "\n[[dataset]]\npath = \"" +
                                  origin() + "\"\nframes = \"" + frames + "\"\n" +
                                  dataset_extra + "\n");
  }
  std::string config_file() const { return directory() + "/zazen.toml"; }

  struct Ended {
    int status;  // exit status, or 128 + signal
    std::string errors;
  };

  static pid_t spawn(const std::vector<std::string>& words, const std::string& errors,
                     unsigned limit_seconds = 0) {
    pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not outlive a test that is killed
    ::alarm(limit_seconds);
    int fd = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>(ZAZEND_PATH)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(ZAZEND_PATH, argv.data());
    ::_exit(127);
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Runs it to its end; for what is refused.
  Ended run_to_end(const std::vector<std::string>& words) {
    std::string errors = directory() + "/errors";
    std::filesystem::remove(errors);
    int status = wait_for(spawn(words, errors, 60));
    return {status, read_file(errors)};
  }

  void start() {
    pid_ = spawn({"--config", config_file()}, directory() + "/log");
    for (;;) {
      if (const Table* table = map_table(runtime().c_str())) {
        bool serves = table->pid == pid_ && daemon_is_alive(*table, monotonic_ms());
        unmap_table(table);
        if (serves) return;
      }
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        FAIL() << "zazend did not start: " << read_file(directory() + "/log");
      }
      ::usleep(2'000);
    }
  }
  int end(int signal) {
    ::kill(pid_, signal);
    return wait_for(std::exchange(pid_, -1));
  }

  Client client() {
    Result<Client> client = Client::connect(runtime(), 60'000);
    if (!client.ok()) throw std::runtime_error(client.error().message());
    return std::move(*client);
  }
  nlohmann::json status() {
    Result<std::string> text = client().status();
    if (!text.ok()) throw std::runtime_error(text.error().message());
    return nlohmann::json::parse(*text);
  }
  // Pushes frames and returns the worst status.
  int push(const Frames& frames) {
    Client to = client();
    int worst = 0;
    for (FrameSeq seq : frames) {
      std::string name = "f" + std::to_string(seq);
      UniqueFd file = open_origin(name);
      EXPECT_TRUE(to.start_push(origin(), name, file.get()).ok());
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
      Result<Client::PushAnswer> answer = to.next_push_answer();
      worst = std::max(worst, answer.ok() ? answer->status : answer.error().code);
    }
    return worst;
  }

  // One request by hand; the status of its reply, or -1 if the connection was closed.
  int ask(MessageType type, const std::string& name, int fd = -1,
          std::uint32_t flags = kWaitForIt) {
    char packet[kMaxMessage];
    std::size_t size = encode_frame_message(type, 7, flags, origin().c_str(), name.c_str(),
                                            packet, sizeof packet);
    return exchange(std::string(packet, size), fd);
  }
  int exchange(const std::string& packet, int fd = -1) {
    UniqueFd socket(connect_daemon(runtime().c_str(), 60'000));
    if (send_message(socket.get(), packet.data(), packet.size(), fd, 60'000) != 0) return -1;
    char reply[kMaxMessage];
    int passed = -1;
    int size = receive_message(socket.get(), reply, sizeof reply, &passed, 60'000);
    UniqueFd owned(passed);
    if (size <= 0) return -1;
    MessageHeader header;
    std::memcpy(&header, reply, sizeof header);
    return header.status;
  }

  pid_t pid_ = -1;
};

}  // namespace zazen
