// The cases of `zazen-bench shim`, and the files that they use. The parent and its worker
// processes are the same program and agree through this table and this layout.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

enum class Side { kPlain, kShim };

enum class CaseKind {
  kReadFrame,  // open, fstat, read all, close
  kStatFrame,
  kOpenOther,  // open and close a file that is no frame
  kStatOther,
  kExec,  // fork, exec of /bin/true, wait
};

struct Case {
  const char* name;   // in JSON
  const char* title;  // for people
  CaseKind kind;
  std::uint64_t bytes;  // of the frame that is read; 0 if none
  bool relative;        // the name of the file that is no frame
  int samples;          // in one turn
  int batch;            // calls for each sample, where one call is too short for the clock
};

std::span<const Case> shim_cases();

inline constexpr int kFramesOfEachSize = 4;

struct BenchFrame {
  FrameSeq seq;
  std::uint64_t bytes;
};
std::vector<BenchFrame> bench_frames();
std::string frame_content(const BenchFrame& frame);

struct BenchLayout {  // where things are below the temporary directory
  std::string root;

  std::string config() const { return root + "/zazen.toml"; }
  std::string cache() const { return root + "/cache"; }
  std::string runtime() const { return root + "/run"; }
  std::string daemon_log() const { return root + "/zazend.log"; }
  std::string dataset() const { return root + "/sim1"; }
  std::string other_directory() const { return root + "/notes"; }
  std::string other_name() const { return "topology.pdb"; }
  std::string frame_name(FrameSeq seq) const { return "f" + std::to_string(seq); }
  std::string origin(FrameSeq seq) const { return dataset() + "/" + frame_name(seq); }
  std::string copy(FrameSeq seq) const { return cache() + origin(seq); }
};
inline constexpr char kFrameTemplate[] = "f{seq}";

}  // namespace zazen
