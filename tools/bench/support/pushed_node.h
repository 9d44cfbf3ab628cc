// PushedNode: a zazend that takes pushes on a port of the loopback, with a key or without, and
// what a writer needs to push to it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/writer/writer_settings.h"
#include "tools/bench/support/cases.h"
#include "tools/bench/support/child_process.h"

namespace zazen {

// A free port of the loopback; another process may take it.
std::uint16_t free_port();

// A new key, for nodes that share it.
void make_key_file(const std::string& path);

struct PushedNode {
  BenchLayout layout;
  std::string address, key_file;
  ChildProcess daemon;

  // The configuration is without what concerns the network.
  static PushedNode start(const std::string& zazend, const BenchLayout& layout, bool with_key,
                          const std::string& configuration);
  // For frames of this dataset, named by kFrameTemplate.
  WriterSettings writer_settings(const std::string& dataset) const;
};

// Bytes that nothing can compress, always the same.
std::vector<char> random_content(std::uint64_t bytes);

}  // namespace zazen
