#include "daemon/service/user_datasets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/raw_call.h"
#include "daemon/process/log.h"

namespace zazen {
namespace {

constexpr std::size_t kMostBytes = 4 << 20;

// Neither string has a control character or a byte that is no UTF-8.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string text_of(const std::vector<DatasetConfig>& datasets) {
  std::string text =
      "# Datasets that users have added by zazenctl add; zazend writes this file.\n";
  for (const DatasetConfig& dataset : datasets) {
    text += fmt::format("\n[[dataset]]\npath = {}\nframes = {}\nuid = {}\n",
                        quoted(dataset.path), quoted(dataset.frames), dataset.added_by.get());
  }
  return text;
}

}  // namespace

UserDatasets::UserDatasets(int directory_fd) : directory_fd_(directory_fd) {
  const UniqueFd file(::openat(directory_fd, kFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return;
  struct stat st = {};
  Result<std::vector<DatasetConfig>> read =
      Error{EIO, std::string(kFile) + ": cannot be read", {}};
  if (file.valid() && ::fstat(file.get(), &st) == 0 &&
      static_cast<std::size_t>(st.st_size) <= kMostBytes) {
    std::string text(static_cast<std::size_t>(st.st_size), '\0');
    const long size = raw_read_at(file.get(), text.data(), text.size(), 0);
    if (size == st.st_size) read = parse_user_datasets(text, kFile);
  }
  if (read) {
    datasets_ = std::move(*read);
    return;
  }
  const std::string aside = std::string(kFile) + ".damaged";
  log_line(LogLevel::kError, "user_datasets_damaged",
           {{"error", read.error().context}, {"kept_as", aside}});
  (void)::renameat(directory_fd, kFile, directory_fd, aside.c_str());
}

const DatasetConfig* UserDatasets::find(const std::string& path) const {
  const auto found = std::ranges::find(datasets_, path, &DatasetConfig::path);
  return found == datasets_.end() ? nullptr : &*found;
}

int UserDatasets::add(const DatasetConfig& dataset) {
  std::vector<DatasetConfig> next = datasets_;
  std::erase_if(next, [&](const DatasetConfig& each) { return each.path == dataset.path; });
  next.push_back(dataset);
  const int code = write(next);
  if (code == 0) datasets_ = std::move(next);
  return code;
}

int UserDatasets::remove(const std::string& path) {
  std::vector<DatasetConfig> next = datasets_;
  std::erase_if(next, [&](const DatasetConfig& each) { return each.path == path; });
  const int code = write(next);
  if (code == 0) datasets_ = std::move(next);
  return code;
}

int UserDatasets::write(const std::vector<DatasetConfig>& datasets) const {
  const std::string text = text_of(datasets);
  const std::string fresh = std::string(kFile) + ".new";
  const UniqueFd file(::openat(directory_fd_, fresh.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return errno;
  if (const int code = raw_write_all(file.get(), text.data(), text.size()); code != 0) {
    return -code;
  }
  if (::fsync(file.get()) != 0 ||
      ::renameat(directory_fd_, fresh.c_str(), directory_fd_, kFile) != 0 ||
      ::fsync(directory_fd_) != 0) {
    return errno;
  }
  return 0;
}

}  // namespace zazen
