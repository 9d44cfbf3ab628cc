#include "tools/support/frame_state.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>

#include "bodhi/common/units.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/node/listing.h"
#include "bodhi/node/seqlog.h"
#include "tools/support/shim_environment.h"

namespace zazen {
namespace {

int access_error(const std::string& path, int mode) {
  return static_cast<int>(-raw_call(SYS_faccessat2, AT_FDCWD, path.c_str(), mode, AT_EACCESS));
}

// True if the node holds the frame without a file under its name (D25). A native that waits for
// its origin has none either, and does not count.
bool is_suspended(const Table& table, const TableDataset& dataset, FrameSeq seq) {
  const std::string directory = std::string(table.cache) + dataset.path + "/";
  bool is_held = false;
  for (const char* log : {kNativeLog, kAlienLog}) {
    Result<FrameSet> frames = read_sequence_log(directory + log);
    is_held = is_held || (frames && frames->contains(seq));
  }
  return is_held &&
         access_error(directory + ".zazen/waiting/" + std::to_string(seq), F_OK) != 0;
}

CopyState copy_state(const Table& table, const KnownDataset& dataset, FrameSeq seq,
                     const std::string& origin_path, const OriginState& origin) {
  CopyState copy;
  const std::string path = table.cache + origin_path;
  int result = raw_open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  RawFd file(result);
  copy.error = result < 0 ? -result : 0;
  if (copy.error == ENOENT) copy.is_suspended = is_suspended(table, *dataset.published, seq);
  if (!file.valid()) return copy;
  copy.comparison = compare_with_origin(file.get(), origin_path.c_str());
  if (read_identity(file.get(), &copy.identity) != 0) return copy;
  if (origin.error != 0) {
    copy.differs.push_back("the origin is gone");
    return copy;
  }
  OriginIdentity now = identity_of(origin.st, copy.identity.kind, copy.identity.checksum);
  if (now.size != copy.identity.size) copy.differs.push_back("size");
  if (now.mtime_ns != copy.identity.mtime_ns) copy.differs.push_back("mtime");
  if (now.ctime_ns != copy.identity.ctime_ns) copy.differs.push_back("ctime");
  if (now.ino != copy.identity.ino) copy.differs.push_back("ino");
  return copy;
}

// Of several causes, the one that lasts longest.
std::string why_doubted(std::uint32_t doubts) {
  if ((doubts & kStale) != 0) {
    return "a copy of this dataset was stale, until a whole pass of the sweep finds no other";
  }
  if ((doubts & kUnwatched) != 0) {
    return "copies of this dataset may be stale, until all have been compared once";
  }
  return "copies of this dataset are young, of frames that changed within a minute before they "
         "were copied";
}

// Describes a program that starts at this moment and uses the dataset for the first time.
std::string check_of(const TableDataset& dataset) {
  switch (reason_to_compare(dataset, false, true)) {
    case CopyReason::kAlways:
      return "at each open (validate = \"always\")";
    case CopyReason::kDoubted:
      return "at each open: " + why_doubted(dataset.doubts.load());
    case CopyReason::kFirstUse:
      return "when a process first uses the dataset, and every 30 s";
    default:
      return "never (validate = \"never\")";
  }
}

Reading from_origin(const OriginState& origin, std::string because) {
  if (origin.error != 0) return {Reading::kNothing, std::strerror(origin.error), {}};
  if (origin.open_error != 0) {
    return {Reading::kNothing,
            std::string(std::strerror(origin.open_error)) + " at the origin",
            {}};
  }
  return {Reading::kOrigin, std::move(because), {}};
}

Reading find_reading(const KnownDataset& dataset, const FrameState& state) {
  const CopyState& copy = state.copy;
  CopyFacts facts;
  facts.dataset = dataset.published;
  DirectoryWatch watch = {};
  DirectoryKey key;
  facts.directory_is_open =
      watch.look(dataset.path.c_str(), dataset.name, monotonic_ms(), &key);
  facts.is_first_use = true;
  facts.copy_error = copy.error;
  CopyVerdict verdict = judge(facts);
  const bool by_sample = verdict.reason == CopyReason::kFirstUse;
  if (verdict.use == CopyUse::kCompare) {
    facts.comparison = copy.comparison;
    verdict = judge(facts);
  }
  Reading reading;
  switch (verdict.reason) {
    case CopyReason::kDirectoryClosed: {
      std::string directory = frame_directory(dataset.path, dataset.name);
      int error = access_error(directory + "/.", F_OK);
      return from_origin(state.origin, directory + ": " + std::strerror(error));
    }
    case CopyReason::kNoCopy:
      if (S_ISLNK(state.origin.st.st_mode)) {
        return from_origin(state.origin, "a symbolic link, which is not cached");
      }
      if (copy.is_suspended) return from_origin(state.origin, "open for writing by a program");
      reading = from_origin(state.origin, "there is no copy");
      break;
    case CopyReason::kCopyClosed:
      reading = from_origin(
          state.origin, std::string("the copy cannot be opened: ") + std::strerror(copy.error));
      break;
    case CopyReason::kNoIdentity:
    case CopyReason::kStale:
      reading = from_origin(
          state.origin,
          fmt::format("the copy is stale: {}{}",
                      verdict.reason == CopyReason::kNoIdentity
                          ? "its identity cannot be read"
                          : fmt::format("{}", fmt::join(copy.differs, ", ")),
                      by_sample ? "; a process that has read other frames first may get it "
                                  "until then"
                                : ""));
      break;
    default:
      return {Reading::kCache,
              copy.comparison == Comparison::kSame ? "the copy is as the origin"
                                                   : "the copy is not checked",
              {}};
  }
  if (reading.from == Reading::kOrigin && S_ISREG(state.origin.st.st_mode)) {
    reading.then = dataset.published->fill == Fill::kWait
                       ? "the open waits, bounded, until the daemon has copied it"
                       : "the daemon is asked to copy it";
  }
  return reading;
}

}  // namespace

OriginState origin_state(const std::string& path) {
  OriginState origin;
  origin.error = static_cast<int>(
      -raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &origin.st, AT_SYMLINK_NOFOLLOW));
  if (origin.error == 0) origin.open_error = access_error(path, R_OK);
  return origin;
}

FrameState frame_state(const TableState& daemon, const KnownDataset& dataset, FrameSeq seq) {
  char buffer[kMaxTemplate + 32];
  std::string name(buffer, dataset.name.format(seq, buffer, sizeof buffer));
  FrameState state;
  const std::string origin_path = dataset.path + "/" + name;
  state.origin = origin_state(origin_path);
  if (dataset.published != nullptr) {
    state.copy = copy_state(daemon.table(), dataset, seq, origin_path, state.origin);
    state.check = check_of(*dataset.published);
  }
  if (shim_is_disabled()) {
    state.reading = from_origin(state.origin, "ZAZEN_DISABLE is set");
  } else if (!daemon.serves()) {
    state.reading = from_origin(state.origin, daemon.reason());
  } else if (dataset.published == nullptr) {
    state.reading = from_origin(state.origin, "the daemon does not serve this dataset");
  } else if (state.origin.error == 0 && S_ISDIR(state.origin.st.st_mode)) {
    state.reading = from_origin(state.origin, "a directory");
  } else {
    state.reading = find_reading(dataset, state);
  }
  return state;
}

Reading reading_of_ordinary(const std::string& path, const std::string& rule) {
  return from_origin(origin_state(path), rule);
}

}  // namespace zazen
