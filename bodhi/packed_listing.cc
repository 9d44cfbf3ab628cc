// The bytes: a header, the runs, the inode numbers, the ordinary names, and the checksum of
// all that.
#include "bodhi/packed_listing.h"

#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "bodhi/raw_call.h"
#include "bodhi/varint.h"

namespace zazen {
namespace {

constexpr std::string_view kListingMagic = "zazen listing 3\n";
constexpr std::size_t kMaxEntryName = 255;
constexpr std::uint64_t kMaxListingBytes = 1ULL << 36;

struct ListingHeader {
  char magic[16];
  DirectoryIdentity directory;
  std::int64_t taken_at_ns;
  std::uint64_t frames;
  std::uint64_t runs;
  std::uint64_t inode_base;
  std::uint32_t inode_bytes;
  std::uint32_t others;
};
static_assert(sizeof(ListingHeader) == 88 && sizeof(FrameRun) == 24);

bool take_text(std::string_view& bytes, std::string_view* text) {
  std::uint64_t length;
  if (!take_varint(bytes, &length) || length > bytes.size()) return false;
  *text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

bool take_others(std::string_view& bytes, std::uint64_t count, std::vector<OrdinaryName>* out) {
  if (count > bytes.size() / 3) return false;
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

// Ascending, without overflow, and as many frames as were promised.
bool runs_are_sound(const std::vector<FrameRun>& runs, std::uint64_t frames) {
  const FrameRun* before = nullptr;
  FrameSeq last = 0;
  for (const FrameRun& run : runs) {
    std::uint64_t span;
    if (run.count == 0 || run.stride == 0 || run.count > frames) return false;
    if (before != nullptr && run.first <= last) return false;
    if (__builtin_mul_overflow(run.stride, run.count - 1, &span) ||
        __builtin_add_overflow(run.first, span, &last)) {
      return false;
    }
    frames -= run.count;
    before = &run;
  }
  return frames == 0;
}

template <class T>
void append(std::string& out, const T* values, std::size_t count) {
  out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

std::string encode_listing(const Listing& listing) {
  const std::vector<FrameRun> runs = FrameSet(listing.frames).runs();
  const auto [least, greatest] = std::ranges::minmax_element(listing.inodes);
  const bool near = least == listing.inodes.end() ||
                    *greatest - *least <= std::numeric_limits<std::uint32_t>::max();
  ListingHeader header = {};
  kListingMagic.copy(header.magic, sizeof header.magic);
  header.directory = listing.directory;
  header.taken_at_ns = listing.taken_at_ns;
  header.frames = listing.inodes.size();
  header.runs = runs.size();
  header.inode_base = near && least != listing.inodes.end() ? *least : 0;
  header.inode_bytes = near ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  header.others = static_cast<std::uint32_t>(listing.others.size());

  std::string out;
  out.reserve(sizeof header + runs.size() * sizeof(FrameRun) +
              listing.inodes.size() * header.inode_bytes);
  append(out, &header, 1);
  append(out, runs.data(), runs.size());
  if (near) {
    for (std::uint64_t ino : listing.inodes) {
      const auto offset = static_cast<std::uint32_t>(ino - header.inode_base);
      append(out, &offset, 1);
    }
  } else {
    append(out, listing.inodes.data(), listing.inodes.size());
  }
  for (const OrdinaryName& other : listing.others) {
    put_varint(out, other.name.size());
    out += other.name;
    put_varint(out, other.ino);
    put_varint(out, other.type);
  }
  const std::uint64_t checksum = XXH3_64bits(out.data(), out.size());
  append(out, &checksum, 1);
  return out;
}

Result<PackedListing> PackedListing::read(std::string bytes) {
  const Error malformed{EINVAL, "malformed listing", {}};
  ListingHeader header;
  std::string_view rest = bytes;
  PackedListing listing;
  if (rest.size() < sizeof header + sizeof listing.checksum_) return malformed;
  rest.remove_suffix(sizeof listing.checksum_);
  listing.checksum_ = load<std::uint64_t>(rest.data() + rest.size());
  if (listing.checksum_ != XXH3_64bits(rest.data(), rest.size())) return malformed;

  std::memcpy(&header, rest.data(), sizeof header);
  rest.remove_prefix(sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kListingMagic) return malformed;
  if (header.inode_bytes != sizeof(std::uint32_t) &&
      header.inode_bytes != sizeof(std::uint64_t))
    return malformed;
  if (header.runs > rest.size() / sizeof(FrameRun)) return malformed;
  listing.runs_.resize(header.runs);
  if (header.runs != 0)
    std::memcpy(listing.runs_.data(), rest.data(), header.runs * sizeof(FrameRun));
  rest.remove_prefix(header.runs * sizeof(FrameRun));
  if (header.frames > rest.size() / header.inode_bytes ||
      !runs_are_sound(listing.runs_, header.frames)) {
    return malformed;
  }
  listing.inodes_at_ = static_cast<std::size_t>(rest.data() - bytes.data());
  rest.remove_prefix(header.frames * header.inode_bytes);
  if (!take_others(rest, header.others, &listing.others_) || !rest.empty()) return malformed;

  listing.directory_ = header.directory;
  listing.taken_at_ns_ = header.taken_at_ns;
  listing.size_ = header.frames;
  listing.inode_bytes_ = header.inode_bytes;
  listing.inode_base_ = header.inode_base;
  listing.bytes_ = std::move(bytes);
  return listing;
}

Result<Listing> decode_listing(std::string_view bytes) {
  Result<PackedListing> packed = PackedListing::read(std::string(bytes));
  if (!packed) return packed.error();
  Listing listing;
  listing.directory = packed->directory();
  listing.taken_at_ns = packed->taken_at_ns();
  listing.frames.reserve(packed->size());
  listing.inodes.reserve(packed->size());
  for (const FrameRun& run : packed->runs())
    for (std::uint64_t k = 0; k < run.count; ++k)
      listing.frames.push_back(run.first + k * run.stride);
  for (std::size_t i = 0; i < packed->size(); ++i) listing.inodes.push_back(packed->inode(i));
  listing.others = packed->others();
  return listing;
}

Result<PackedListing> load_kept_listing(const std::string& path,
                                        const DirectoryIdentity& current) {
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
  Result<PackedListing> listing = PackedListing::read(std::move(bytes));
  if (!listing) return Error{listing.error().code, path + ": malformed listing", {}};
  if (listing->directory() != current ||
      !is_settled(listing->directory(), listing->taken_at_ns())) {
    return Error{ESTALE, path + ": of another state of the directory", {}};
  }
  return listing;
}

}  // namespace zazen
