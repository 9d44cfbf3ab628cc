// PacedWriter: pushes frames of one size from memory to a node at a fixed rate. Each frame has
// its time, the first one after half a period. Frames go as fast as the node takes them, as
// from a simulation: between them is silence.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "bodhi/writer/writer.h"
#include "tools/bench/support/pushed_node.h"

namespace zazen {

class PacedWriter {
 public:
  // The content must outlive it.
  static Result<std::unique_ptr<PacedWriter>> start(const PushedNode& node,
                                                    const std::string& dataset,
                                                    std::span<const char> content,
                                                    double bytes_per_second);
  ~PacedWriter();

  // Of what is durable on the node.
  std::uint64_t pushed_bytes() const { return writer_->figures().bytes; }
  // Begins no other frame, and waits for those that were begun. An error if one was lost.
  Status finish();

 private:
  PacedWriter(std::shared_ptr<Writer> writer, std::string dataset,
              std::span<const char> content, double bytes_per_second);
  void run(const std::stop_token& stop);

  const std::shared_ptr<Writer> writer_;
  const std::string dataset_;
  const std::span<const char> content_;
  const std::chrono::duration<double> period_;
  Status queued_ = Done{};  // the thread's, while it runs
  std::jthread thread_;
};

}  // namespace zazen
