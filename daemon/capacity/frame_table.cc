#include "daemon/capacity/frame_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "bodhi/common/unique_fd.h"
#include "daemon/process/mapped_file.h"

namespace zazen {

struct FrameTableHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slots_log2;
  std::uint64_t stamp;  // 0 unless sealed
  std::uint64_t checksum;
  std::uint64_t log_bytes;
  std::uint64_t frames;
  std::uint64_t bytes;
  std::uint64_t unknown;
  FrameSeq newest;
  std::uint32_t has_newest;
  std::uint32_t reserved;
  std::uint64_t unused[22];
};
static_assert(sizeof(FrameTableHeader) == 256);

namespace {

constexpr std::uint64_t kMagic = 0x31656c6261747aULL;  // "ztable1"
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kFewestSlotsLog2 = 8, kMostSlotsLog2 = 40;
constexpr std::uint32_t kNeighboursLog2 = 4;

std::size_t file_size(std::uint32_t slots_log2) {
  return sizeof(FrameTableHeader) + (std::size_t{16} << slots_log2);
}

// The checksum of the whole file except the checksum field itself.
std::uint64_t checksum_of(const FrameTableHeader& header) {
  FrameTableHeader blank = header;
  blank.checksum = 0;
  return XXH3_64bits_withSeed(&header + 1, std::size_t{16} << header.slots_log2,
                              XXH3_64bits(&blank, sizeof blank));
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccdULL;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}

}  // namespace

FrameTable::~FrameTable() {
  if (header_ != nullptr) ::munmap(header_, file_size(header_->slots_log2));
}

void FrameTable::swap(FrameTable& other) noexcept {
  std::swap(directory_fd_, other.directory_fd_);
  std::swap(name_, other.name_);
  std::swap(in_file_, other.in_file_);
  std::swap(header_, other.header_);
  std::swap(slots_, other.slots_);
  std::swap(mask_, other.mask_);
  std::swap(arrangement_, other.arrangement_);
  std::swap(changes_, other.changes_);
  std::swap(extent_, other.extent_);
  std::swap(bytes_of_owners_, other.bytes_of_owners_);
}

std::optional<FrameTable::Seal> FrameTable::keep_in(int directory_fd, const std::string& name,
                                                    std::uint64_t stamp) {
  directory_fd_ = directory_fd;
  name_ = name;
  std::optional<Seal> found = stamp == 0 ? std::nullopt : resume(stamp);
  if (!found) ::unlinkat(directory_fd_, name_.c_str(), 0);
  return found;
}

std::optional<FrameTable::Seal> FrameTable::resume(std::uint64_t stamp) {
  UniqueFd file(::openat(directory_fd_, name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat st = {};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return std::nullopt;
  FrameTableHeader header;
  if (::pread(file.get(), &header, sizeof header, 0) != sizeof header ||
      header.magic != kMagic || header.version != kVersion || header.stamp != stamp ||
      header.slots_log2 < kFewestSlotsLog2 || header.slots_log2 > kMostSlotsLog2 ||
      static_cast<std::size_t>(st.st_size) != file_size(header.slots_log2)) {
    return std::nullopt;
  }
  std::size_t size = file_size(header.slots_log2);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return std::nullopt;
  if (checksum_of(*static_cast<FrameTableHeader*>(memory)) != header.checksum) {
    ::munmap(memory, size);
    return std::nullopt;
  }
  use(memory, header.slots_log2);
  in_file_ = true;
  header_->stamp = 0;
  for (std::uint64_t i = 0; i < slot_count(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.word != 0 && slot.bytes() != kUnknown) {
      bytes_of_owners_[slot.owner()] += slot.bytes();
    }
  }
  return Seal{stamp, header.log_bytes,
              header.has_newest != 0 ? std::optional(header.newest) : std::nullopt};
}

int FrameTable::seal(const Seal& seal) {
  if (header_ == nullptr) resize(kFewestSlotsLog2);
  if (!in_file_) return ENOSPC;
  header_->log_bytes = seal.log_bytes;
  header_->newest = seal.newest.value_or(0);
  header_->has_newest = seal.newest ? 1 : 0;
  header_->stamp = seal.stamp;
  header_->checksum = checksum_of(*header_);
  return 0;
}

void FrameTable::reserve(std::uint64_t frames) {
  std::uint32_t slots_log2 = header_ == nullptr ? kFewestSlotsLog2 : header_->slots_log2;
  while (frames * 4 >= (std::uint64_t{3} << slots_log2)) ++slots_log2;
  if (header_ == nullptr || slots_log2 != header_->slots_log2) resize(slots_log2);
}

void FrameTable::set(FrameSeq seq, std::uint64_t bytes, OwnerKey owner) {
  reserve(size() + 1);
  Slot& slot = slots_[slot_of(seq)];
  if (slot.word == 0) {
    if (size() == 0) extent_ = {seq, seq};
    if (extent_) extent_ = {std::min(extent_->first, seq), std::max(extent_->last, seq)};
    ++changes_;
    header_->frames += 1;
  } else {
    count(slot, ~std::uint64_t{0});
  }
  slot = {seq, std::uint64_t{owner} << 48 | (std::min(bytes, kUnknown) + 1)};
  count(slot, 1);
}

bool FrameTable::erase(FrameSeq seq) {
  if (header_ == nullptr) return false;
  std::uint64_t hole = slot_of(seq);
  if (slots_[hole].word == 0) return false;
  count(slots_[hole], ~std::uint64_t{0});
  header_->frames -= 1;
  ++changes_;
  if (extent_ && (seq == extent_->first || seq == extent_->last)) extent_.reset();
  for (std::uint64_t i = (hole + 1) & mask_; slots_[i].word != 0; i = (i + 1) & mask_) {
    // An entry may move up if its home is not between the hole and the entry.
    if (((i - home_of(slots_[i].seq)) & mask_) < ((i - hole) & mask_)) continue;
    slots_[hole] = slots_[i];
    if (i / kSlotsOfOneLook != hole / kSlotsOfOneLook) ++arrangement_;
    hole = i;
  }
  slots_[hole].word = 0;
  if (header_->slots_log2 > kFewestSlotsLog2 && header_->frames * 8 <= mask_) {
    resize(header_->slots_log2 - 1);
  }
  return true;
}

std::optional<std::uint64_t> FrameTable::find(FrameSeq seq) const {
  if (header_ == nullptr) return std::nullopt;
  const Slot& slot = slots_[slot_of(seq)];
  return slot.word == 0 ? std::nullopt : std::optional(slot.bytes());
}

OwnerKey FrameTable::owner_of(FrameSeq seq) const {
  return slots_[slot_of(seq)].owner();
}

std::uint64_t FrameTable::bytes_of(OwnerKey owner) const {
  auto found = bytes_of_owners_.find(owner);
  return found == bytes_of_owners_.end() ? 0 : found->second;
}

std::uint64_t FrameTable::size() const {
  return header_ == nullptr ? 0 : header_->frames;
}

std::uint64_t FrameTable::bytes() const {
  return header_ == nullptr ? 0 : header_->bytes;
}

std::uint64_t FrameTable::unknown() const {
  return header_ == nullptr ? 0 : header_->unknown;
}

std::optional<FrameSeq> FrameTable::random(std::mt19937_64& random) const {
  if (size() == 0) return std::nullopt;
  // At least every eighth slot is used, except in the smallest table.
  constexpr int kTries = 128;
  std::uint64_t slot = random() & mask_;
  for (int i = 0; i < kTries && slots_[slot].word == 0; ++i) slot = random() & mask_;
  while (slots_[slot].word == 0) slot = (slot + 1) & mask_;
  return slots_[slot].seq;
}

std::uint64_t FrameTable::home_of(FrameSeq seq) const {
  constexpr std::uint64_t kNeighbours = (1 << kNeighboursLog2) - 1;
  return ((mix(seq >> kNeighboursLog2) << kNeighboursLog2) | (seq & kNeighbours)) & mask_;
}

std::uint64_t FrameTable::slot_of(FrameSeq seq) const {
  std::uint64_t slot = home_of(seq);
  while (slots_[slot].word != 0 && slots_[slot].seq != seq) slot = (slot + 1) & mask_;
  return slot;
}

// `by` is 1 or, modulo 2^64, -1.
void FrameTable::count(const Slot& slot, std::uint64_t by) {
  if (slot.bytes() == kUnknown) {
    header_->unknown += by;
    return;
  }
  header_->bytes += by * slot.bytes();
  auto owned = bytes_of_owners_.try_emplace(slot.owner()).first;
  owned->second += by * slot.bytes();
  if (owned->second == 0) bytes_of_owners_.erase(owned);
}

void FrameTable::resize(std::uint32_t slots_log2) {
  FrameTableHeader* old = header_;
  Slot* old_slots = slots_;
  std::uint64_t old_count = slot_count();
  use(make_memory(slots_log2), slots_log2);
  header_->magic = kMagic;
  header_->version = kVersion;
  header_->slots_log2 = slots_log2;
  ++arrangement_;
  if (old == nullptr) return;
  header_->frames = old->frames;
  header_->bytes = old->bytes;
  header_->unknown = old->unknown;
  for (std::uint64_t i = 0; i < old_count; ++i) {
    if (old_slots[i].word != 0) slots_[slot_of(old_slots[i].seq)] = old_slots[i];
  }
  ::munmap(old, file_size(old->slots_log2));
}

void FrameTable::use(void* memory, std::uint32_t slots_log2) {
  header_ = static_cast<FrameTableHeader*>(memory);
  slots_ = reinterpret_cast<Slot*>(header_ + 1);
  mask_ = (std::uint64_t{1} << slots_log2) - 1;
}

// A zeroed table of this size. With a directory it is a new file, which replaces the old one.
// The file's blocks are allocated, so that a full disk cannot become a SIGBUS. Otherwise it is
// in memory.
void* FrameTable::make_memory(std::uint32_t slots_log2) {
  std::size_t size = file_size(slots_log2);
  std::string fresh = name_ + ".new";
  in_file_ = false;
  if (directory_fd_ >= 0 && !copies_on_write(directory_fd_)) {
    UniqueFd file(::openat(directory_fd_, fresh.c_str(),
                           O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.valid() && ::posix_fallocate(file.get(), 0, static_cast<off_t>(size)) == 0 &&
        ::renameat(directory_fd_, fresh.c_str(), directory_fd_, name_.c_str()) == 0) {
      void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      in_file_ = memory != MAP_FAILED;
      if (in_file_) return memory;
    }
    ::unlinkat(directory_fd_, fresh.c_str(), 0);
    ::unlinkat(directory_fd_, name_.c_str(), 0);
  }
  void* memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace zazen
