// The file: a header, the runs in the encoding of FrameSet, and the checksum of both. It is not
// flushed: after a crash of the machine the log is replayed and the summary removed.
#include "bodhi/node/log_summary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <string_view>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMagic = 0x316d7573676f6c7aULL;  // "zlogsum1"
constexpr char kUnfinished[] = ".new";
constexpr std::uint64_t kSmallBytes = 4'096;

struct SummaryHeader {
  std::uint64_t magic;
  std::uint64_t log_ino;
  std::uint64_t log_bytes;
};
static_assert(sizeof(SummaryHeader) == 24);

bool read_header(int fd, std::uint64_t log_ino, std::uint64_t log_bytes, SummaryHeader* out) {
  const long got = raw_read_at(fd, reinterpret_cast<char*>(out), sizeof *out, 0);
  return got == sizeof *out && out->magic == kMagic && out->log_ino == log_ino &&
         out->log_bytes <= log_bytes;
}

Status write_file(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return last_error("write the summary of a sequence log");
    done += static_cast<std::size_t>(put);
  }
  return Done{};
}

}  // namespace

std::string summary_of(const std::string& log) {
  return log + ".summary";
}

std::uint64_t bytes_in_summary(int fd, std::uint64_t log_ino, std::uint64_t log_bytes) {
  SummaryHeader header;
  return read_header(fd, log_ino, log_bytes, &header) ? header.log_bytes : 0;
}

std::optional<LogSummary> read_log_summary(int fd, std::uint64_t log_ino,
                                           std::uint64_t log_bytes) {
  SummaryHeader header;
  std::uint64_t checksum;
  struct stat st;
  if (!read_header(fd, log_ino, log_bytes, &header) || raw_fstat(fd, &st) != 0) return {};
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size < sizeof header + sizeof checksum || size > 4 * log_bytes + kSmallBytes) return {};
  std::string bytes(size, '\0');
  if (raw_read_at(fd, bytes.data(), size, 0) != static_cast<long>(size)) return {};
  const std::size_t end = size - sizeof checksum;
  std::memcpy(&checksum, bytes.data() + end, sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), end)) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  Result<std::vector<FrameRun>> runs =
      FrameSet::decode_runs(std::string_view(bytes).substr(sizeof header, end - sizeof header));
  if (!runs) return {};
  return LogSummary{header.log_bytes, std::move(*runs)};
}

Status write_log_summary(int directory_fd, const std::string& log, std::uint64_t log_ino,
                         std::uint64_t log_bytes, const FrameSet& frames) {
  const SummaryHeader header{kMagic, log_ino, log_bytes};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += frames.encode();
  const std::uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);

  const std::string name = summary_of(log), temporary = name + kUnfinished;
  const UniqueFd fd(::openat(directory_fd, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return last_error(temporary + ": open");
  Status done = write_file(fd.get(), bytes);
  if (done && ::renameat(directory_fd, temporary.c_str(), directory_fd, name.c_str()) != 0)
    done = last_error(name + ": rename");
  if (!done) ::unlinkat(directory_fd, temporary.c_str(), 0);
  return done;
}

int remove_log_summary(int directory_fd, const std::string& log) {
  const std::string name = summary_of(log);
  ::unlinkat(directory_fd, (name + kUnfinished).c_str(), 0);  // a crash may have left one
  if (::unlinkat(directory_fd, name.c_str(), 0) == 0) return 0;
  return errno == ENOENT ? 0 : errno;
}

}  // namespace zazen
