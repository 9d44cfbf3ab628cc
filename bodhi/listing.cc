// Reading, packing and unpacking a listing. The packed form: a header, the frames as an
// encoded FrameSet, their inode numbers as differences (neighbours were often made one after
// the other), the ordinary names, and a checksum of all that, because a listing that was
// damaged on disk would lose frames without a word.
#include "bodhi/listing.h"

#include <dirent.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

#include "bodhi/frame_set.h"
#include "bodhi/raw_call.h"
#include "bodhi/varint.h"

namespace zazen {
namespace {

constexpr std::string_view kListingMagic = "zazen listing 1\n";
constexpr std::size_t kChecksumSize = 8;
constexpr std::int64_t kSettleNs = 2'000'000'000;
constexpr std::int64_t kNeverSettled = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kEntriesBytes = 512 * 1024;
constexpr std::size_t kMaxEntryName = 255;
constexpr int kAttempts = 3;
constexpr std::uint64_t kMaxListingBytes = 1ULL << 36;

std::int64_t to_ns(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

DirectoryIdentity identity_of_directory(const struct stat& st) {
  return {st.st_ino, to_ns(st.st_mtim), to_ns(st.st_ctim)};
}

struct Entries {
  std::vector<std::pair<FrameSeq, std::uint64_t>> frames;  // with inode number
  std::vector<OrdinaryName> others;
};

int read_entries(int fd, const FrameName& name, Entries* out) {
  // The kernel's layout of one entry: u64 ino, i64 offset, u16 size, u8 type, name.
  constexpr std::size_t kSizeAt = 16, kTypeAt = 18, kNameAt = 19;
  std::vector<char> buffer(kEntriesBytes);
  for (;;) {
    long got = raw_call(SYS_getdents64, fd, buffer.data(), buffer.size());
    if (got == 0) return 0;
    if (got < 0) return static_cast<int>(-got);
    for (const char *at = buffer.data(), *end = at + got; at < end;) {
      std::uint64_t ino;
      std::uint16_t size;
      std::memcpy(&ino, at, sizeof ino);
      std::memcpy(&size, at + kSizeAt, sizeof size);
      std::uint8_t type = static_cast<std::uint8_t>(at[kTypeAt]);
      const char* text = at + kNameAt;
      std::size_t length = std::strlen(text);
      FrameSeq seq;
      if (name.type_fits(type) && name.match_entry(text, length, &seq)) {
        out->frames.emplace_back(seq, ino);
      } else {
        out->others.push_back({std::string(text, length), ino, type});
      }
      at += size;
    }
  }
}

Listing make_listing(const DirectoryIdentity& directory, std::int64_t taken_at_ns,
                     Entries entries) {
  Listing listing;
  listing.directory = directory;
  listing.taken_at_ns = taken_at_ns;
  auto& frames = entries.frames;
  std::sort(frames.begin(), frames.end());
  // A directory that changes while it is read may show an entry twice.
  auto same_seq = [](const auto& a, const auto& b) { return a.first == b.first; };
  frames.erase(std::unique(frames.begin(), frames.end(), same_seq), frames.end());
  listing.frames.reserve(frames.size());
  listing.inodes.reserve(frames.size());
  for (const auto& [seq, ino] : frames) {
    listing.frames.push_back(seq);
    listing.inodes.push_back(ino);
  }
  auto& others = entries.others;
  std::sort(others.begin(), others.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  auto same_name = [](const auto& a, const auto& b) { return a.name == b.name; };
  others.erase(std::unique(others.begin(), others.end(), same_name), others.end());
  listing.others = std::move(others);
  return listing;
}

std::string checksum_of(std::string_view bytes) {
  std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  return std::string(reinterpret_cast<const char*>(&hash), sizeof hash);
}

bool take_signed(std::string_view& bytes, std::int64_t* value) {
  std::uint64_t raw;
  if (!take_varint(bytes, &raw)) return false;
  *value = from_zigzag(raw);
  return true;
}

bool take_text(std::string_view& bytes, std::string_view* text) {
  std::uint64_t length;
  if (!take_varint(bytes, &length) || length > bytes.size()) return false;
  *text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

bool take_inodes(std::string_view& bytes, std::size_t count, std::vector<std::uint64_t>* out) {
  std::uint64_t ino = 0;
  out->reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t difference;
    if (!take_signed(bytes, &difference)) return false;
    ino += static_cast<std::uint64_t>(difference);
    out->push_back(ino);
  }
  return true;
}

bool take_others(std::string_view& bytes, std::vector<OrdinaryName>* out) {
  std::uint64_t count;
  if (!take_varint(bytes, &count) || count > bytes.size() / 3) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    OrdinaryName other;
    std::string_view name;
    std::uint64_t type;
    if (!take_text(bytes, &name) || !take_varint(bytes, &other.ino) ||
        !take_varint(bytes, &type)) {
      return false;
    }
    if (name.empty() || name.size() > kMaxEntryName || type > 255) return false;
    if (name.find('/') != name.npos || name.find('\0') != name.npos) return false;
    if (!out->empty() && name <= out->back().name) return false;
    other.name = name;
    other.type = static_cast<std::uint8_t>(type);
    out->push_back(std::move(other));
  }
  return true;
}

}  // namespace

bool Listing::settled() const {
  // The later of the two: mtime can be set back, ctime cannot.
  std::int64_t changed_ns = std::max(directory.mtime_ns, directory.ctime_ns);
  return changed_ns <= std::numeric_limits<std::int64_t>::max() - kSettleNs &&
         taken_at_ns >= changed_ns + kSettleNs;
}

std::string frame_directory(const std::string& dataset, const FrameName& name) {
  if (name.directory_length() == 0) return dataset;
  return dataset + "/" + std::string(name.directory(), name.directory_length());
}

Result<DirectoryIdentity> stat_directory(const std::string& directory) {
  struct stat st;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, directory.c_str(), &st, 0);
  if (result != 0) return Error{static_cast<int>(-result), directory + ": stat", {}};
  if (!S_ISDIR(st.st_mode)) return Error{ENOTDIR, directory + ": stat", {}};
  return identity_of_directory(st);
}

Result<Listing> list_directory(const std::string& directory, const FrameName& name) {
  RawFd fd(raw_open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return Error{-fd.get(), directory + ": open", {}};
  for (int attempt = 1;; ++attempt) {
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    struct stat before, after;
    Entries entries;
    int error = -raw_fstat(fd.get(), &before);
    if (error == 0) error = read_entries(fd.get(), name, &entries);
    if (error == 0) error = -raw_fstat(fd.get(), &after);
    if (error != 0) return Error{error, directory + ": list", {}};

    DirectoryIdentity identity = identity_of_directory(before);
    bool stood_still = identity == identity_of_directory(after);
    if (stood_still || attempt == kAttempts) {
      return make_listing(identity, stood_still ? to_ns(now) : kNeverSettled,
                          std::move(entries));
    }
    raw_call(SYS_lseek, fd.get(), 0, SEEK_SET);
  }
}

std::string encode_listing(const Listing& listing) {
  std::string out(kListingMagic);
  put_varint(out, listing.directory.ino);
  put_varint(out, to_zigzag(listing.directory.mtime_ns));
  put_varint(out, to_zigzag(listing.directory.ctime_ns));
  put_varint(out, to_zigzag(listing.taken_at_ns));
  std::string frames = FrameSet(listing.frames).encode();
  put_varint(out, frames.size());
  out += frames;
  std::uint64_t last = 0;
  for (std::uint64_t ino : listing.inodes) {
    put_varint(out, to_zigzag(static_cast<std::int64_t>(ino - last)));
    last = ino;
  }
  put_varint(out, listing.others.size());
  for (const OrdinaryName& other : listing.others) {
    put_varint(out, other.name.size());
    out += other.name;
    put_varint(out, other.ino);
    put_varint(out, other.type);
  }
  return out + checksum_of(out);
}

Result<Listing> decode_listing(std::string_view bytes) {
  const Error malformed{EINVAL, "malformed listing", {}};
  if (bytes.size() < kListingMagic.size() + kChecksumSize) return malformed;
  std::string_view checksum = bytes.substr(bytes.size() - kChecksumSize);
  bytes.remove_suffix(kChecksumSize);
  if (checksum != checksum_of(bytes)) return malformed;
  if (bytes.substr(0, kListingMagic.size()) != kListingMagic) return malformed;
  bytes.remove_prefix(kListingMagic.size());

  Listing listing;
  std::string_view frames;
  if (!take_varint(bytes, &listing.directory.ino) ||
      !take_signed(bytes, &listing.directory.mtime_ns) ||
      !take_signed(bytes, &listing.directory.ctime_ns) ||
      !take_signed(bytes, &listing.taken_at_ns) || !take_text(bytes, &frames)) {
    return malformed;
  }
  // Every frame has an inode number of at least one byte: no more frames than bytes.
  auto set = FrameSet::decode(frames, bytes.size());
  if (!set || !take_inodes(bytes, set->size(), &listing.inodes) ||
      !take_others(bytes, &listing.others) || !bytes.empty()) {
    return malformed;
  }
  listing.frames = set->frames();
  return listing;
}

Result<Listing> load_kept_listing(const std::string& path, const DirectoryIdentity& current) {
  RawFd file(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (!file.valid()) return Error{-file.get(), path + ": open", {}};
  struct stat st;
  if (int error = raw_fstat(file.get(), &st)) return Error{-error, path + ": stat", {}};
  if (static_cast<std::uint64_t>(st.st_size) > kMaxListingBytes) {
    return Error{EFBIG, path + ": read", {}};
  }
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  long got = raw_read_at(file.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return Error{static_cast<int>(-got), path + ": read", {}};
  bytes.resize(static_cast<std::size_t>(got));
  auto listing = decode_listing(bytes);
  if (!listing) return Error{listing.error().code, path + ": malformed listing", {}};
  if (listing->directory != current || !listing->settled()) {
    return Error{ESTALE, path + ": of another state of the directory", {}};
  }
  return listing;
}

}  // namespace zazen
