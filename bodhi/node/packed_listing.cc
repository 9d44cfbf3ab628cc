// The bytes: a header, the runs, the inode numbers, the ordinary names, and the checksum of all
// of them.
#include "bodhi/node/packed_listing.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "bodhi/common/varint.h"

namespace zazen {
namespace {

constexpr std::string_view kListingMagic = "zazen listing 4\n";
constexpr std::size_t kMaxEntryName = 255;
constexpr std::uint64_t kMaxListingBytes = 1ULL << 36;
constexpr std::uint64_t kMaxFrames = 1ULL << 32;  // a few runs can claim any number
constexpr std::size_t kPieceBytes = 128 * 1024;   // fits into the processor's cache

struct ListingHeader {
  char magic[16];
  DirectoryIdentity directory;
  std::int64_t taken_at_ns;
  std::uint64_t frames;
  std::uint64_t runs;
  std::uint64_t inode_base;  // of a narrow array; for runs: the number of runs
  InodeForm inode_form;
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

// Ascending, without overflow, and with the announced number of frames.
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

std::vector<InodeRun> runs_of(std::span<const std::uint64_t> inodes) {
  std::vector<InodeRun> runs;
  for (std::size_t i = 0; i < inodes.size();) {
    InodeRun run{inodes[i], i + 1 < inodes.size() ? inodes[i + 1] - inodes[i] : 0, 1};
    while (++i < inodes.size() && inodes[i] - inodes[i - 1] == run.stride) ++run.count;
    runs.push_back(run);
  }
  return runs;
}

// The size of the inode numbers; false if it cannot be right.
bool size_of_inodes(const ListingHeader& header, std::uint64_t rest, std::uint64_t* bytes) {
  const bool runs = header.inode_form == InodeForm::kRuns;
  if (!runs && header.inode_form != InodeForm::kNarrow && header.inode_form != InodeForm::kWide)
    return false;
  const std::uint64_t count = runs ? header.inode_base : header.frames;
  const std::uint64_t each =
      runs ? sizeof(InodeRun) : static_cast<std::uint64_t>(header.inode_form);
  *bytes = count * each;
  return count <= rest / each;
}

bool cover(std::span<const InodeRun> runs, std::uint64_t frames) {
  for (const InodeRun& run : runs) {
    if (run.count == 0 || run.count > frames) return false;
    frames -= run.count;
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
  const std::vector<InodeRun> inode_runs = runs_of(listing.inodes);
  ListingHeader header = {};
  kListingMagic.copy(header.magic, sizeof header.magic);
  header.directory = listing.directory;
  header.taken_at_ns = listing.taken_at_ns;
  header.frames = listing.inodes.size();
  header.runs = runs.size();
  header.inode_form = near ? InodeForm::kNarrow : InodeForm::kWide;
  const std::size_t array_bytes =
      listing.inodes.size() * static_cast<std::size_t>(header.inode_form);
  if (inode_runs.size() * sizeof(InodeRun) <= array_bytes) {
    header.inode_form = InodeForm::kRuns;
    header.inode_base = inode_runs.size();
  } else if (near) {
    header.inode_base = *least;
  }
  header.others = static_cast<std::uint32_t>(listing.others.size());

  std::string out;
  out.reserve(sizeof header + runs.size() * sizeof(FrameRun) + array_bytes);
  append(out, &header, 1);
  append(out, runs.data(), runs.size());
  if (header.inode_form == InodeForm::kRuns) {
    append(out, inode_runs.data(), inode_runs.size());
  } else if (header.inode_form == InodeForm::kNarrow) {
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

bool PackedListing::Source::copy(std::uint64_t from, void* out, std::size_t count) const {
  if (from > size || count > size - from) return false;
  if (file != nullptr)
    return raw_read_at(file->get(), static_cast<char*>(out), count, static_cast<off_t>(from)) ==
           static_cast<long>(count);
  if (count != 0) std::memcpy(out, bytes.data() + from, count);
  return true;
}

bool PackedListing::is_whole() const {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                        XXH3_freeState);
  if (state == nullptr || XXH3_64bits_reset(state.get()) != XXH_OK) return false;
  const std::uint64_t end = source_.size - sizeof checksum_;
  std::string piece(std::min<std::uint64_t>(kPieceBytes, end), '\0');
  for (std::uint64_t at = 0; at < end; at += piece.size()) {
    const std::size_t count = std::min<std::uint64_t>(piece.size(), end - at);
    if (!source_.copy(at, piece.data(), count)) return false;
    XXH3_64bits_update(state.get(), piece.data(), count);
  }
  return XXH3_64bits_digest(state.get()) == checksum_;
}

Result<PackedListing> PackedListing::parse(Source source) {
  const Error malformed{EINVAL, "malformed listing", {}};
  PackedListing listing;
  ListingHeader header;
  const std::uint64_t size = source.size;
  if (size < sizeof header + sizeof listing.checksum_ ||
      !source.copy(0, &header, sizeof header))
    return malformed;
  std::uint64_t rest = size - sizeof header - sizeof listing.checksum_;
  if (std::string_view(header.magic, sizeof header.magic) != kListingMagic) return malformed;
  if (header.frames > kMaxFrames || header.runs > rest / sizeof(FrameRun)) return malformed;
  rest -= header.runs * sizeof(FrameRun);
  std::uint64_t inode_bytes = 0;
  if (!size_of_inodes(header, rest, &inode_bytes)) return malformed;
  rest -= inode_bytes;
  listing.inodes_at_ = sizeof header + header.runs * sizeof(FrameRun);

  listing.runs_.resize(header.runs);
  const bool in_runs = header.inode_form == InodeForm::kRuns;
  if (in_runs) listing.inode_runs_.resize(header.inode_base);
  std::string tail(rest + sizeof listing.checksum_, '\0');
  if (!source.copy(sizeof header, listing.runs_.data(), header.runs * sizeof(FrameRun)) ||
      !source.copy(listing.inodes_at_, listing.inode_runs_.data(), in_runs ? inode_bytes : 0) ||
      !source.copy(size - tail.size(), tail.data(), tail.size()))
    return malformed;
  std::memcpy(&listing.checksum_, tail.data() + rest, sizeof listing.checksum_);
  std::string_view others(tail.data(), rest);
  if (!runs_are_sound(listing.runs_, header.frames) ||
      (in_runs && !cover(listing.inode_runs_, header.frames)) ||
      !take_others(others, header.others, &listing.others_) || !others.empty())
    return malformed;

  listing.directory_ = header.directory;
  listing.taken_at_ns_ = header.taken_at_ns;
  listing.size_ = header.frames;
  listing.inode_form_ = header.inode_form;
  listing.inode_base_ = header.inode_base;
  listing.source_ = std::move(source);
  return listing;
}

Result<PackedListing> PackedListing::read(std::string bytes) {
  const std::uint64_t size = bytes.size();
  Result<PackedListing> listing = parse({std::move(bytes), nullptr, size});
  if (listing && !listing->is_whole()) return Error{EINVAL, "damaged listing", {}};
  return listing;
}

Result<std::string> PackedListing::bytes() const {
  if (source_.file == nullptr) return source_.bytes;
  std::string all(source_.size, '\0');
  if (!source_.copy(0, all.data(), all.size())) return Error{EIO, "listing: read", {}};
  return all;
}

InodeWalk::InodeWalk(const PackedListing& listing) : listing_(listing) {
  const std::size_t most = std::min(kPieceBytes / sizeof(std::uint64_t), listing.size());
  if (listing.inode_form_ == InodeForm::kNarrow) narrow_.resize(most);
  if (listing.inode_form_ == InodeForm::kWide) wide_.resize(most);
}

void InodeWalk::move_to(std::size_t position) {
  if (listing_.inode_form_ == InodeForm::kRuns) {
    while (position - first_ >= count_) {
      first_ += count_;
      run_ = listing_.inode_runs_[next_run_++];
      count_ = run_.count;
    }
    return;
  }
  const auto each = static_cast<std::size_t>(listing_.inode_form_);
  const bool narrow = listing_.inode_form_ == InodeForm::kNarrow;
  void* out = narrow ? static_cast<void*>(narrow_.data()) : wide_.data();
  first_ = position;
  count_ = std::min(std::max(narrow_.size(), wide_.size()), listing_.size() - position);
  if (!listing_.source_.copy(listing_.inodes_at_ + position * each, out, count_ * each))
    ok_ = false;
}

Result<Listing> decode_listing(std::string_view bytes, std::uint64_t limit) {
  Result<PackedListing> packed = PackedListing::read(std::string(bytes));
  if (!packed) return packed.error();
  if (packed->size() > limit) return Error{EFBIG, "listing", {}};
  Listing listing;
  listing.directory = packed->directory();
  listing.taken_at_ns = packed->taken_at_ns();
  listing.frames.reserve(packed->size());
  listing.inodes.reserve(packed->size());
  for (const FrameRun& run : packed->runs())
    for (std::uint64_t k = 0; k < run.count; ++k)
      listing.frames.push_back(run.first + k * run.stride);
  InodeWalk inodes(*packed);
  for (std::size_t i = 0; i < packed->size(); ++i) listing.inodes.push_back(inodes.at(i));
  listing.others = packed->others();
  return listing;
}

Result<PackedListing> load_kept_listing(const std::string& path,
                                        const DirectoryIdentity& current, ListingCheck check) {
  const auto file =
      std::make_shared<const RawFd>(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (!file->valid()) return Error{-file->get(), path + ": open", {}};
  struct stat st;
  if (int error = raw_fstat(file->get(), &st)) return Error{-error, path + ": stat", {}};
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > kMaxListingBytes) return Error{EFBIG, path + ": read", {}};
  // A short one is read at once.
  std::string bytes(size <= kPieceBytes ? size : 0, '\0');
  const long got = raw_read_at(file->get(), bytes.data(), bytes.size(), 0);
  if (got != static_cast<long>(bytes.size())) return Error{EIO, path + ": read", {}};
  Result<PackedListing> listing = bytes.empty()
                                      ? PackedListing::parse({{}, file, size})
                                      : PackedListing::parse({std::move(bytes), nullptr, size});
  if (!listing) return Error{listing.error().code, path + ": malformed listing", {}};
  if (listing->directory() != current ||
      !is_settled(listing->directory(), listing->taken_at_ns())) {
    return Error{ESTALE, path + ": of another state of the directory", {}};
  }
  if (check == ListingCheck::kWhole && !listing->is_whole())
    return Error{EINVAL, path + ": damaged listing", {}};
  return listing;
}

}  // namespace zazen
