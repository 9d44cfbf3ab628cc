// The file: a header of 16 bytes, then records of 16 bytes. Reading stops at the first record
// with a wrong checksum. The writer truncates the file there; a reader only stops.
//
// A damaged header counts as a damaged first record: the log is a hint, and the store
// reconciles it with the files.
#include "bodhi/node/seqlog.h"

#include <fcntl.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL  // a checksum of 12 bytes costs less than a call
#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

struct LogHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved;
};
static_assert(sizeof(LogHeader) == 16 && sizeof(LogRecord) == 16);

constexpr LogHeader kLogHeader = {0x31676f6c7165737aULL, 1, 0};  // "zseqlog1"
constexpr XXH64_hash_t kChecksumSeed = 0x7a617a656e;
constexpr std::size_t kChunkRecords = 8 * 1024;     // 128 KB: they stay in the cache
constexpr std::uint64_t kUnsummarized = 16 * 1024;  // a reader takes 0.3 ms for these
constexpr std::uint64_t kMostSummarized = 1 << 21;  // records; replaying more would take more
                                                    // than 100 MB of the daemon's memory

std::uint32_t checksum_of(const LogRecord& record) {
  return static_cast<std::uint32_t>(
      XXH3_64bits_withSeed(&record, offsetof(LogRecord, checksum), kChecksumSeed));
}

LogRecord make_record(FrameSeq seq, LogOperation operation) {
  LogRecord record = {seq, operation, 0};
  record.checksum = checksum_of(record);
  return record;
}

bool record_is_valid(const LogRecord& record) {
  return (record.operation == LogOperation::kAdd ||
          record.operation == LogOperation::kForget) &&
         record.checksum == checksum_of(record);
}

using Chunk = std::vector<LogRecord>;

struct Extent {  // the good part of a log
  bool header_is_good = false;
  std::uint64_t records = 0;
  std::uint64_t size_bytes() const {
    return header_is_good ? sizeof(LogHeader) + records * sizeof(LogRecord) : 0;
  }
};

// 0 or an errno.
int read_header(int fd, Extent* extent) {
  LogHeader header;
  long got = raw_read_at(fd, reinterpret_cast<char*>(&header), sizeof header, 0);
  if (got < 0) return static_cast<int>(-got);
  extent->header_is_good =
      got == sizeof header && std::memcmp(&header, &kLogHeader, sizeof header) == 0;
  return 0;
}

// Visits the records up to the first bad one, in chunks. Skips the first ones, as many as
// *extent already has. 0 or an errno.
template <class Show>
int read_records(int fd, std::uint64_t log_bytes, Extent* extent, Show&& show) {
  Chunk chunk;
  while (extent->header_is_good && extent->size_bytes() + sizeof(LogRecord) <= log_bytes) {
    chunk.resize(std::min<std::uint64_t>(
        kChunkRecords, (log_bytes - extent->size_bytes()) / sizeof(LogRecord)));
    long got =
        raw_read_at(fd, reinterpret_cast<char*>(chunk.data()), chunk.size() * sizeof(LogRecord),
                    static_cast<off_t>(extent->size_bytes()));
    if (got < 0) return static_cast<int>(-got);
    std::size_t whole = static_cast<std::size_t>(got) / sizeof(LogRecord);
    std::size_t good = 0;
    while (good < whole && record_is_valid(chunk[good])) ++good;
    show(std::span<const LogRecord>(chunk.data(), good));
    extent->records += good;
    if (good < chunk.size()) break;
  }
  return 0;
}

// Visits an open log: the frames of its summary, if there is a valid one, and the other
// records.
int read_with_summary(int fd, const struct stat& st, int summary_fd, const LogVisitor& visitor,
                      Extent* good) {
  if (int error = read_header(fd, good)) return error;
  const auto log_bytes = static_cast<std::uint64_t>(st.st_size);
  if (summary_fd >= 0 && good->header_is_good)
    if (std::optional<LogSummary> summary = read_log_summary(summary_fd, st.st_ino, log_bytes);
        summary && summary->log_bytes >= sizeof(LogHeader)) {
      visitor.held(summary->runs);
      good->records = (summary->log_bytes - sizeof(LogHeader)) / sizeof(LogRecord);
    }
  return read_records(fd, log_bytes, good, visitor.records);
}

// The last record of each frame decides.
FrameSet replay(const std::vector<LogRecord>& records) {
  auto is_add = [](const LogRecord& record) { return record.operation == LogOperation::kAdd; };
  std::vector<FrameSeq> frames;
  if (std::all_of(records.begin(), records.end(), is_add)) {
    frames.reserve(records.size());
    for (const LogRecord& record : records) frames.push_back(record.seq);
    return FrameSet(std::move(frames));
  }
  struct Entry {
    FrameSeq seq;
    std::uint64_t position;
    bool operator<(const Entry& other) const {
      return seq != other.seq ? seq < other.seq : position < other.position;
    }
  };
  std::vector<Entry> entries;
  entries.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) entries.push_back({records[i].seq, i});
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    bool is_last = i + 1 == entries.size() || entries[i + 1].seq != entries[i].seq;
    if (is_last && is_add(records[entries[i].position])) frames.push_back(entries[i].seq);
  }
  return FrameSet(std::move(frames));
}

Result<FrameSet> read_frames(int fd, const struct stat& st, int summary_fd, Extent* good) {
  std::vector<LogRecord> records;
  records.reserve(static_cast<std::size_t>(st.st_size) / sizeof(LogRecord));
  const LogVisitor visitor{
      [&](std::span<const FrameRun> runs) {
        for (const FrameRun& run : runs)
          for (std::uint64_t k = 0; k < run.count; ++k)
            records.push_back({run.first + k * run.stride, LogOperation::kAdd, 0});
      },
      [&](std::span<const LogRecord> some) {
        records.insert(records.end(), some.begin(), some.end());
      }};
  if (int error = read_with_summary(fd, st, summary_fd, visitor, good))
    return Error{error, "read a sequence log", {}};
  return replay(records);
}

int write_at(int fd, const void* data, std::size_t size, std::uint64_t offset) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t put = ::pwrite(fd, bytes, size, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes += put;
    size -= static_cast<std::size_t>(put);
    offset += static_cast<std::uint64_t>(put);
  }
  return 0;
}

// Otherwise a crash could bring back an old log, with frames that have since been forgotten.
int flush_parent(int directory_fd, const std::string& name) {
  std::size_t slash = name.rfind('/');
  std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
  UniqueFd fd(::openat(directory_fd, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.valid() && ::fsync(fd.get()) == 0 ? 0 : errno;
}

// For readers other than the writer: a missing log is an empty one, and most nodes have empty
// ones. The log is opened first, then its summary (log_summary.h).
template <class Read>
Status read_from(const std::string& path, Read&& read) {
  RawFd file(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (file.get() == -ENOENT) return Done{};
  if (!file.valid()) return Error{-file.get(), path + ": open", {}};
  struct stat st;
  if (int error = raw_fstat(file.get(), &st)) return Error{-error, path + ": stat", {}};
  if (st.st_size <= static_cast<off_t>(sizeof(LogHeader))) return Done{};
  RawFd summary(raw_open(summary_of(path).c_str(), O_RDONLY | O_NONBLOCK));
  if (int error = read(file.get(), st, summary.get())) return Error{error, path + ": read", {}};
  return Done{};
}

UniqueFd open_file(int directory_fd, const std::string& name, int more_flags) {
  return UniqueFd(
      ::openat(directory_fd, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | more_flags, 0644));
}

}  // namespace

Result<SequenceLog> SequenceLog::open(int directory_fd, const std::string& name,
                                      const Visit& visit) {
  SequenceLog log;
  if (int error = remove_log_summary(directory_fd, name))
    return Error{error, summary_of(name) + ": remove", {}};
  log.fd_ = open_file(directory_fd, name, O_CREAT);
  if (!log.fd_.valid()) return last_error(name + ": open");
  struct stat st;
  if (int error = raw_fstat(log.fd_.get(), &st)) return Error{-error, name + ": stat", {}};
  Extent good;
  int error = read_header(log.fd_.get(), &good);
  if (error == 0) {
    const auto bytes = static_cast<std::uint64_t>(st.st_size);
    error = read_records(log.fd_.get(), bytes, &good, [&](std::span<const LogRecord> records) {
      if (!visit) return;
      for (const LogRecord& record : records)
        visit(record.seq, record.operation == LogOperation::kAdd);
    });
  }
  if (error != 0) return Error{error, name + ": read", {}};

  log.size_bytes_ = good.size_bytes();
  if (::ftruncate(log.fd_.get(), static_cast<off_t>(log.size_bytes_)) != 0) {
    return last_error(name + ": cut the torn tail");
  }
  if (!good.header_is_good) {
    error = write_at(log.fd_.get(), &kLogHeader, sizeof kLogHeader, 0);
    if (error != 0) return Error{error, name + ": write", {}};
    log.size_bytes_ = sizeof kLogHeader;
  }
  return log;
}

Result<SequenceLog> SequenceLog::resume(int directory_fd, const std::string& name,
                                        std::uint64_t size_bytes) {
  SequenceLog log;
  log.fd_ = open_file(directory_fd, name, 0);
  struct stat st;
  if (!log.fd_.valid() || raw_fstat(log.fd_.get(), &st) != 0)
    return last_error(name + ": open");
  if (static_cast<std::uint64_t>(st.st_size) != size_bytes || size_bytes < sizeof(LogHeader)) {
    return Error{ESTALE, name + ": not as it was left", {}};
  }
  log.size_bytes_ = size_bytes;
  const UniqueFd summary = open_file(directory_fd, summary_of(name), 0);
  if (summary.valid())
    log.summarized_bytes_ = bytes_in_summary(summary.get(), st.st_ino, size_bytes);
  return log;
}

Status SequenceLog::append(std::span<const FrameSeq> added,
                           std::span<const FrameSeq> forgotten) {
  std::vector<LogRecord> records;
  records.reserve(added.size() + forgotten.size());
  for (FrameSeq seq : added) records.push_back(make_record(seq, LogOperation::kAdd));
  for (FrameSeq seq : forgotten) records.push_back(make_record(seq, LogOperation::kForget));
  std::size_t bytes = records.size() * sizeof(LogRecord);
  if (int error = write_at(fd_.get(), records.data(), bytes, size_bytes_)) {
    // The next append would overwrite the partial write of this one; a reader must not see it.
    [[maybe_unused]] int ignored = ::ftruncate(fd_.get(), static_cast<off_t>(size_bytes_));
    return Error{error, "append to a sequence log", {}};
  }
  size_bytes_ += bytes;
  return Done{};
}

Status SequenceLog::flush() {
  if (::fdatasync(fd_.get()) != 0) return last_error("flush a sequence log");
  return Done{};
}

Status SequenceLog::write_anew(int directory_fd, const std::string& name,
                               std::span<const FrameSeq> frames) {
  std::string temporary = name + ".new";
  SequenceLog anew;
  anew.fd_ = open_file(directory_fd, temporary, O_CREAT | O_TRUNC);
  if (!anew.fd_.valid()) return last_error("write a sequence log anew");
  int error = write_at(anew.fd_.get(), &kLogHeader, sizeof kLogHeader, 0);
  anew.size_bytes_ = sizeof kLogHeader;
  while (error == 0 && !frames.empty()) {
    std::span<const FrameSeq> some = frames.first(std::min(frames.size(), kChunkRecords));
    if (Status done = anew.append(some, {}); !done.ok()) error = done.error().code;
    frames = frames.subspan(some.size());
  }
  if (error == 0) error = remove_log_summary(directory_fd, name);
  if (error == 0 &&
      (::fdatasync(anew.fd_.get()) != 0 ||
       ::renameat(directory_fd, temporary.c_str(), directory_fd, name.c_str()) != 0)) {
    error = errno;
  }
  if (error != 0) {
    ::unlinkat(directory_fd, temporary.c_str(), 0);
    summarized_bytes_ = 0;
    return Error{error, "write a sequence log anew", {}};
  }
  *this = std::move(anew);
  if (error = flush_parent(directory_fd, name); error != 0) {
    return Error{error, "flush a sequence log's directory", {}};
  }
  return Done{};
}

bool SequenceLog::wants_summary() const {
  return records() <= kMostSummarized &&
         size_bytes_ - summarized_bytes_ >
             kUnsummarized * sizeof(LogRecord) + summarized_bytes_ / 8;
}

Status SequenceLog::summarize(int directory_fd, const std::string& name) {
  struct stat st;
  if (int error = raw_fstat(fd_.get(), &st)) return Error{-error, name, {}};
  // A failed append may have left bytes that could not be truncated; a summary must not cover
  // them.
  if (static_cast<std::uint64_t>(st.st_size) != size_bytes_) return Error{ESTALE, name, {}};
  const UniqueFd before = open_file(directory_fd, summary_of(name), 0);
  Extent good;
  Result<FrameSet> frames = read_frames(fd_.get(), st, before.get(), &good);
  if (!frames) return frames.error();
  // Stops at a record that the disk has damaged, as a reader without the summary does.
  Status done = write_log_summary(directory_fd, name, st.st_ino, good.size_bytes(), *frames);
  // Also set after a failure: otherwise every append would try again.
  summarized_bytes_ = size_bytes_;
  return done;
}

std::uint64_t SequenceLog::records() const {
  return (size_bytes_ - sizeof(LogHeader)) / sizeof(LogRecord);
}

std::vector<FrameSeq> SequenceLog::added_since(std::uint64_t first) const {
  std::vector<FrameSeq> added;
  Chunk chunk(records() - std::min(records(), first));
  long got = raw_read_at(fd_.get(), reinterpret_cast<char*>(chunk.data()),
                         chunk.size() * sizeof(LogRecord),
                         static_cast<off_t>(sizeof(LogHeader) + first * sizeof(LogRecord)));
  if (got < 0) return added;
  chunk.resize(static_cast<std::size_t>(got) / sizeof(LogRecord));
  for (const LogRecord& record : chunk) {
    if (record.operation == LogOperation::kAdd) added.push_back(record.seq);
  }
  return added;
}

Result<FrameSet> read_sequence_log(const std::string& path) {
  FrameSet frames;
  Status seen = read_from(path, [&](int file, const struct stat& st, int summary) {
    Extent good;
    Result<FrameSet> all = read_frames(file, st, summary, &good);
    if (!all) return all.error().code;
    frames = std::move(*all);
    return 0;
  });
  if (!seen) return seen.error();
  return frames;
}

Status visit_sequence_log(const std::string& path, const LogVisitor& visitor) {
  return read_from(path, [&](int file, const struct stat& st, int summary) {
    Extent good;
    return read_with_summary(file, st, summary, visitor, &good);
  });
}

}  // namespace zazen
