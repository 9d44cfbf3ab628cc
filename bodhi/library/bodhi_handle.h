// The struct behind a bodhi handle. The libraries of zazen(3) read its first member.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace zazen {
class FrameReader;
class Writer;
}  // namespace zazen

struct bodhi {
  std::string runtime;  // the runtime directory of the node's daemon
  std::string config;   // the configuration's file; "": only the runtime directory is known
  pid_t owner = 0;      // a child after fork has the handle, but no threads
  std::shared_ptr<zazen::FrameReader> reader;

  std::mutex lock;  // protects the following members
  std::shared_ptr<zazen::Writer> writer;
  std::string writer_error;  // why there is no writer
  std::int64_t tried_at_ms = 0;
};
