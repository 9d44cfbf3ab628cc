// The file: a header of 16 bytes, then records of 16 bytes. Reading stops at the first
// record whose checksum is wrong; the writer cuts the file there, a reader merely stops.
//
// A damaged header is treated like a damaged first record: the log is a hint, the store
// reconciles it with the files.
#include "bodhi/seqlog.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "bodhi/raw_call.h"

namespace zazen {
namespace {

enum class Operation : std::uint32_t { kAdd = 1, kForget = 2 };

struct LogHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved;
};
struct LogRecord {
  FrameSeq seq;
  Operation operation;
  std::uint32_t checksum;
};
static_assert(sizeof(LogHeader) == 16 && sizeof(LogRecord) == 16);

constexpr LogHeader kLogHeader = {0x31676f6c7165737aULL, 1, 0};  // "zseqlog1"
constexpr XXH64_hash_t kChecksumSeed = 0x7a617a656e;
constexpr std::size_t kChunkRecords = 64 * 1024;

std::uint32_t checksum_of(const LogRecord& record) {
  return static_cast<std::uint32_t>(
      XXH3_64bits_withSeed(&record, offsetof(LogRecord, checksum), kChecksumSeed));
}

LogRecord make_record(FrameSeq seq, Operation operation) {
  LogRecord record = {seq, operation, 0};
  record.checksum = checksum_of(record);
  return record;
}

bool record_is_valid(const LogRecord& record) {
  return (record.operation == Operation::kAdd || record.operation == Operation::kForget) &&
         record.checksum == checksum_of(record);
}

struct Replay {
  std::vector<LogRecord> records;
  bool header_is_good = false;
  std::uint64_t good_size() const {
    return header_is_good ? sizeof(LogHeader) + records.size() * sizeof(LogRecord) : 0;
  }
};

// Every record up to the first bad one. 0 or an errno.
int read_records(int fd, Replay* out) {
  LogHeader header;
  long got = raw_read_at(fd, reinterpret_cast<char*>(&header), sizeof header, 0);
  if (got < 0) return static_cast<int>(-got);
  out->header_is_good =
      got == sizeof header && std::memcmp(&header, &kLogHeader, sizeof header) == 0;
  if (!out->header_is_good) return 0;

  struct stat st;
  if (raw_fstat(fd, &st) == 0) {
    out->records.reserve(static_cast<std::size_t>(st.st_size) / sizeof(LogRecord));
  }
  std::vector<LogRecord> chunk(kChunkRecords);
  for (;;) {
    got = raw_read_at(fd, reinterpret_cast<char*>(chunk.data()),
                      chunk.size() * sizeof(LogRecord), static_cast<off_t>(out->good_size()));
    if (got < 0) return static_cast<int>(-got);
    std::size_t whole = static_cast<std::size_t>(got) / sizeof(LogRecord);
    for (std::size_t i = 0; i < whole; ++i) {
      if (!record_is_valid(chunk[i])) return 0;
      out->records.push_back(chunk[i]);
    }
    if (whole < chunk.size()) return 0;
  }
}

// The last word on each frame wins.
FrameSet replay(const std::vector<LogRecord>& records) {
  auto is_add = [](const LogRecord& record) { return record.operation == Operation::kAdd; };
  std::vector<FrameSeq> frames;
  if (std::all_of(records.begin(), records.end(), is_add)) {
    frames.reserve(records.size());
    for (const LogRecord& record : records) frames.push_back(record.seq);
    return FrameSet(std::move(frames));
  }
  struct Word {
    FrameSeq seq;
    std::uint64_t position;
    bool operator<(const Word& other) const {
      return seq != other.seq ? seq < other.seq : position < other.position;
    }
  };
  std::vector<Word> words;
  words.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) words.push_back({records[i].seq, i});
  std::sort(words.begin(), words.end());
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool is_last = i + 1 == words.size() || words[i + 1].seq != words[i].seq;
    if (is_last && is_add(records[words[i].position])) frames.push_back(words[i].seq);
  }
  return FrameSet(std::move(frames));
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

// Writes a log with just these frames beside the old one and puts it in its place. An
// invalid fd if that fails: the old log is as it was.
UniqueFd write_anew(int directory_fd, const std::string& name, const FrameSet& frames) {
  std::string temporary = name + ".new";
  UniqueFd fd(::openat(directory_fd, temporary.c_str(),
                       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return fd;
  std::vector<LogRecord> records;
  records.reserve(frames.size());
  for (FrameSeq seq : frames.frames()) records.push_back(make_record(seq, Operation::kAdd));
  bool replaced = write_at(fd.get(), &kLogHeader, sizeof kLogHeader, 0) == 0 &&
                  write_at(fd.get(), records.data(), records.size() * sizeof(LogRecord),
                           sizeof kLogHeader) == 0 &&
                  ::fdatasync(fd.get()) == 0 &&
                  ::renameat(directory_fd, temporary.c_str(), directory_fd, name.c_str()) == 0;
  if (!replaced) {
    ::unlinkat(directory_fd, temporary.c_str(), 0);
    fd.reset();
  }
  return fd;
}

}  // namespace

Result<SequenceLog> SequenceLog::open(int directory_fd, const std::string& name) {
  SequenceLog log;
  log.fd_.reset(
      ::openat(directory_fd, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!log.fd_.valid()) return last_error(name + ": open");
  Replay found;
  if (int error = read_records(log.fd_.get(), &found)) return Error{error, name + ": read", {}};

  if (::ftruncate(log.fd_.get(), static_cast<off_t>(found.good_size())) != 0) {
    return last_error(name + ": cut the torn tail");
  }
  log.size_bytes_ = found.good_size();
  if (!found.header_is_good) {
    if (int error = write_at(log.fd_.get(), &kLogHeader, sizeof kLogHeader, 0)) {
      return Error{error, name + ": write", {}};
    }
    log.size_bytes_ = sizeof kLogHeader;
  }
  log.loaded_ = replay(found.records);

  std::size_t superseded = found.records.size() - log.loaded_.size();
  if (superseded > found.records.size() / 2) {
    UniqueFd anew = write_anew(directory_fd, name, log.loaded_);
    if (anew.valid()) {
      log.fd_ = std::move(anew);
      log.size_bytes_ = sizeof(LogHeader) + log.loaded_.size() * sizeof(LogRecord);
    }
  }
  return log;
}

Status SequenceLog::append(std::span<const FrameSeq> added,
                           std::span<const FrameSeq> forgotten) {
  std::vector<LogRecord> records;
  records.reserve(added.size() + forgotten.size());
  for (FrameSeq seq : added) records.push_back(make_record(seq, Operation::kAdd));
  for (FrameSeq seq : forgotten) records.push_back(make_record(seq, Operation::kForget));
  std::size_t bytes = records.size() * sizeof(LogRecord);
  if (int error = write_at(fd_.get(), records.data(), bytes, size_bytes_)) {
    // The next append would overwrite what was written of this one; a reader must not see it.
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

Result<FrameSet> read_sequence_log(const std::string& path) {
  RawFd file(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (file.get() == -ENOENT) return FrameSet();
  if (!file.valid()) return Error{-file.get(), path + ": open", {}};
  Replay found;
  if (int error = read_records(file.get(), &found)) return Error{error, path + ": read", {}};
  return replay(found.records);
}

}  // namespace zazen
