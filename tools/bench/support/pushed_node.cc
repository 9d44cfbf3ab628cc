#include "tools/bench/support/pushed_node.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "bodhi/common/unique_fd.h"
#include "bodhi/push/push_keys.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/loopback.h"

namespace zazen {

std::uint16_t free_port() {
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return bind_to_loopback(probe.get());
}

void make_key_file(const std::string& path) {
  Bytes32 key = random_bytes();
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (write(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    throw last_error(path);
  }
}

PushedNode PushedNode::start(const std::string& zazend, const BenchLayout& layout,
                             bool with_key, const std::string& configuration) {
  std::uint16_t port = free_port();
  std::string address = "127.0.0.1:" + std::to_string(port), key_file;
  std::string keys = "listen = \"" + address + "\"\n";
  if (with_key) {
    key_file = layout.root + "/key";
    make_key_file(key_file);
    keys += "key_file = \"" + key_file + "\"\n";
  }
  std::ofstream(layout.config()) << keys << configuration;
  ChildProcess daemon = start_daemon(zazend, layout);
  return PushedNode{layout, address, key_file, std::move(daemon)};
}

WriterSettings PushedNode::writer_settings(const std::string& dataset) const {
  WriterSettings settings;
  settings.peers = {address};
  WriterSettings::Dataset one{dataset, {}};
  const char* why = "";
  if (!FrameName::parse(kFrameTemplate, std::strlen(kFrameTemplate), &one.name, &why)) {
    throw Error{EINVAL, why, {}};
  }
  settings.datasets = {one};
  settings.keys = std::make_shared<KeyRing>(key_file);
  return settings;
}

std::vector<char> random_content(std::uint64_t bytes) {
  std::vector<char> content(bytes);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i + 8 <= content.size(); i += 8) {
    std::uint64_t word = random();
    std::memcpy(content.data() + i, &word, sizeof word);
  }
  return content;
}

}  // namespace zazen
