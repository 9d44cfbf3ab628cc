// View and tally: the frames that a rank may see, and the opens that it made (D13).
//
// When the ranks have agreed, each gets a directory of its own, <runtime>/jobs/XXXXXX, which
// ZAZEN_VIEW in its environment names. It has two files. `view` is mapped read-only and never
// changes. `tally` is mapped shared; the rank and every process that it starts write it with
// plain atomics. The tally is a file, so `zazenctl report` can read it even if the rank was
// killed. Directories of ended ranks are kept for a while in <runtime>/reports
// (daemon/worker/job_sweep.h).
//
// For each dataset the view has the *domain*, the rank's own frames with their inode numbers,
// and the names that are no frames. The domain is every frame of the agreed listing, as strided
// runs in ascending order; a frame's index is its position there. The own frames are runs, too.
// Lean.
#pragma once
#include <atomic>

#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr char kViewFile[] = "view";
inline constexpr char kTallyFile[] = "tally";
inline constexpr char kViewVariable[] = "ZAZEN_VIEW";
inline constexpr std::uint64_t kViewMagic = 0x31776569765a415aULL;
inline constexpr std::uint32_t kViewVersion = 4;
inline constexpr std::size_t kMaxCommand = 128;

struct ViewRun {  // first, first + stride, ..., count of them; their indexes begin at index
  FrameSeq first;
  std::uint64_t stride;
  std::uint64_t count;
  std::uint64_t index;
};
struct ViewFrame {
  FrameSeq seq;
  std::uint64_t ino;
};
// Own frames whose numbers and inode numbers increase by constant steps. Two frames that are
// not far apart always form a run, so a frame takes at most 16 bytes in any arrangement.
struct ViewOwnRun {
  FrameSeq first;
  std::uint64_t ino;        // of the first
  std::uint64_t index;      // number of own frames before it; the next run's ends this one
  std::uint32_t stride;     // 1 if it is one frame
  std::int32_t ino_stride;  // modulo 2^64, like the inode numbers
};
struct ViewName {  // an ordinary name, "." and ".." among them
  std::uint64_t ino;
  std::uint32_t name_offset;  // in the file, NUL terminated
  std::uint8_t type;          // DT_*
};
struct ViewDataset {
  char path[kMaxPath];        // of the dataset
  char frames[kMaxTemplate];  // its template
  std::uint64_t frame_directory_ino;
  std::uint8_t entry_type;     // DT_REG, or DT_DIR for "{seq}/traj.dcd"
  std::uint64_t domain_count;  // frames in the domain
  std::uint64_t runs_offset;   // ViewRun[runs_count]
  std::uint64_t runs_count;
  std::uint64_t own_offset;  // ViewOwnRun[own_runs], ascending
  std::uint64_t own_runs;
  std::uint64_t own_count;     // frames
  std::uint64_t names_offset;  // ViewName[names_count], ascending
  std::uint64_t names_count;
  std::uint64_t opened_offset;  // in the tally: bitmap of domain_count bits, 64-bit words
};
struct View {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t dataset_count;
  std::uint64_t file_size;
  std::uint64_t tally_size;
  std::int32_t rank;
  std::int32_t ranks;
  std::int32_t nodes;
  std::int32_t owner_pid;        // of the rank; removes the directory when it ends
  char node_name[kMaxNodeName];  // "" if the rank has no daemon
  std::uint64_t job;             // the same for all ranks, different for each job
  std::int64_t started_ns;       // since 1970, by rank 0's clock
  char command[kMaxCommand];     // the program's arguments, as far as they fit
  ViewDataset datasets[];
};

struct TallyDataset {
  std::atomic<std::uint64_t> listed;          // number of listings that were begun
  std::atomic<std::uint64_t> opened_outside;  // opens of frames that are not in the domain
  std::atomic<std::uint64_t> listed_early;    // 1: the rank listed it before it had the view
};
// How a rank ended, as far as it reported it. Nothing if it was killed, crashed or called
// _exit.
enum class Ending : std::uint64_t { kNoWord = 0, kExited = 1, kFinalized = 2 };

struct Tally {
  std::uint64_t magic;  // kViewMagic
  std::atomic<Ending> ending;
  std::atomic<std::uint64_t> protocol_us;
  std::atomic<std::uint64_t> hits;
  std::atomic<std::uint64_t> misses;
  std::atomic<std::uint64_t> bytes_local;  // sizes of the frames opened, by the source
  std::atomic<std::uint64_t> bytes_origin;
  TallyDataset datasets[];  // then the bitmaps
};

// Every offset and string is within the file; runs, frames and names are ascending.
bool view_is_valid(const View* view, std::size_t mapped_size);

// Maps <directory>/view and <directory>/tally by raw system calls. False if either is
// missing, another user's, or not valid.
bool map_view(const char* directory, const View** view, Tally** tally);
void unmap_view(const View* view, Tally* tally);

// The domain: runs_count of them.
inline const ViewRun* domain_runs(const View& view, const ViewDataset& dataset) {
  return reinterpret_cast<const ViewRun*>(reinterpret_cast<const char*>(&view) +
                                          dataset.runs_offset);
}
// The rank's own frame number i, counted from 0.
ViewFrame own_frame(const View& view, const ViewDataset& dataset, std::uint64_t i);
inline const ViewName* other_names(const View& view, const ViewDataset& dataset) {
  return reinterpret_cast<const ViewName*>(reinterpret_cast<const char*>(&view) +
                                           dataset.names_offset);
}
// Is the frame among the rank's own?
bool is_own(const View& view, const ViewDataset& dataset, FrameSeq seq);
// Is it the name of an ordinary file?
bool has_name(const View& view, const ViewDataset& dataset, const char* name);
// A frame's index in the domain, or -1.
std::int64_t domain_index(const View& view, const ViewDataset& dataset, FrameSeq seq);

// The bitmap of the opened frames, as 64-bit words.
inline std::atomic<std::uint64_t>* opened_words(Tally* tally, const ViewDataset& dataset) {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<char*>(tally) +
                                                       dataset.opened_offset);
}
// Sets the frame's bit; a frame that is not in the domain counts as opened_outside. True if the
// bit was not set.
bool mark_opened(const View& view, Tally* tally, const ViewDataset& dataset, FrameSeq seq);

}  // namespace zazen
