#include "daemon/disk/index_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "daemon/process/log.h"
#include "daemon/process/mapped_file.h"

namespace zazen {
namespace {

void copy_fields(const IndexEntry& from, IndexEntry& to) {
  to.local_ctime_ns = from.local_ctime_ns;
  to.ino = from.ino;
  to.mtime_ns = from.mtime_ns;
  to.ctime_ns = from.ctime_ns;
  to.uid = from.uid;
  to.gid = from.gid;
  to.blocks = from.blocks;
  to.mode = from.mode;
  to.links = from.links;
  to.dataset = from.dataset;
  to.local_ino.store(from.local_ino.load(std::memory_order_relaxed), std::memory_order_release);
}

bool is_live(const IndexEntry& entry) {
  std::uint64_t ino = entry.local_ino.load(std::memory_order_relaxed);
  return ino != IndexEntry::kFree && ino != IndexEntry::kRemoved;
}

void unmap(IdentityIndex* index) {
  ::munmap(index, index_size(index->slots_log2));
}

}  // namespace

IndexFile::IndexFile(const std::string& runtime, std::uint32_t slots_log2, bool for_all_users)
    : path_(runtime + "/" + kIndexFile), for_all_users_(for_all_users) {
  while (instance_ == 0 && ::getrandom(&instance_, sizeof instance_, 0) < 0) {
  }
  UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (copies_on_write(directory.get())) {
    ::unlink(path_.c_str());  // another daemon made it
  } else {
    index_ = make(slots_log2);
  }
}

IndexFile::~IndexFile() {
  if (index_ == nullptr) return;
  ::unlink(path_.c_str());
  unmap(index_);
}

IdentityIndex* IndexFile::make(std::uint32_t slots_log2) {
  std::string fresh = path_ + ".new";
  UniqueFd file;
  void* memory = make_mapped_file(fresh, index_size(slots_log2), &file);
  if (memory == nullptr || (for_all_users_ && ::fchmod(file.get(), 0644) != 0)) {
    log_line(LogLevel::kWarn, "no_index", {{"error", std::strerror(errno)}});
    ::unlink(fresh.c_str());
    return nullptr;
  }
  IdentityIndex* index = static_cast<IdentityIndex*>(memory);
  index->magic = kIndexMagic;
  index->version = kIndexVersion;
  index->slots_log2 = slots_log2;
  index->instance = instance_;
  IdentityIndex* old = index_;
  used_ = live_ = 0;
  index_ = index;
  for (std::uint64_t i = 0; old != nullptr && i <= old->mask(); ++i) {
    if (is_live(old->slots[i])) insert(old->slots[i]);
  }
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) {
    log_line(LogLevel::kWarn, "no_index", {{"error", std::strerror(errno)}});
  }
  return index;
}

// Makes a new index with at least twice as many slots as wanted entries, and without the
// removed ones.
void IndexFile::grow(std::uint64_t wanted) {
  std::uint32_t slots_log2 = index_->slots_log2;
  while (wanted * 2 >> slots_log2 != 0) ++slots_log2;
  IdentityIndex* old = index_;
  std::uint64_t used = used_, live = live_;
  if (make(slots_log2) == nullptr) {
    used_ = used;
    live_ = live;
    return;
  }
  old->superseded.store(1, std::memory_order_release);
  unmap(old);
}

void IndexFile::reserve(std::uint64_t copies) {
  std::lock_guard lock(mutex_);
  if (index_ != nullptr && copies * 2 > index_->mask()) grow(copies);
}

bool IndexFile::insert(const IndexEntry& entry) {
  std::uint64_t slot = index_->first_slot(entry.local_ino.load(std::memory_order_relaxed));
  for (std::uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    IndexEntry& to = index_->slots[(slot + probe) & index_->mask()];
    if (to.local_ino.load(std::memory_order_relaxed) != IndexEntry::kFree) continue;
    copy_fields(entry, to);
    ++used_;
    ++live_;
    return true;
  }
  return false;
}

void IndexFile::add(std::uint32_t dataset, const struct stat& local,
                    const OriginIdentity& identity) {
  if (identity.size != static_cast<std::uint64_t>(local.st_size)) return;
  IndexEntry entry = {};
  entry.local_ino.store(local.st_ino, std::memory_order_relaxed);
  if (!is_live(entry)) return;
  entry.local_ctime_ns = to_ns(local.st_ctim);
  entry.ino = identity.ino;
  entry.mtime_ns = identity.mtime_ns;
  entry.ctime_ns = identity.ctime_ns;
  entry.uid = identity.uid;
  entry.gid = identity.gid;
  entry.blocks = identity.blocks;
  entry.mode = identity.mode;
  entry.links = static_cast<std::uint16_t>(identity.links);
  entry.dataset = static_cast<std::uint16_t>(dataset);

  remove(local.st_ino);
  std::lock_guard lock(mutex_);
  if (index_ == nullptr) return;
  if (used_ * 4 >= index_->mask() * 3) grow(live_);
  if (used_ * 8 < index_->mask() * 7) insert(entry);
}

void IndexFile::remove(ino_t local_ino) {
  std::lock_guard lock(mutex_);
  if (index_ == nullptr) return;
  std::uint64_t slot = index_->first_slot(local_ino);
  for (std::uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    IndexEntry& entry = index_->slots[(slot + probe) & index_->mask()];
    std::uint64_t ino = entry.local_ino.load(std::memory_order_relaxed);
    if (ino == IndexEntry::kFree) return;
    if (ino != local_ino) continue;
    entry.local_ino.store(IndexEntry::kRemoved, std::memory_order_release);
    --live_;
  }
}

void IndexFile::remove_dataset(std::uint32_t dataset) {
  constexpr std::uint64_t kPart = 65'536;
  std::unique_lock lock(mutex_);
  const IdentityIndex* seen = index_;
  for (std::uint64_t i = 0; index_ != nullptr && i <= index_->mask(); ++i) {
    IndexEntry& entry = index_->slots[i];
    if (is_live(entry) && entry.dataset == dataset) {
      entry.local_ino.store(IndexEntry::kRemoved, std::memory_order_release);
      --live_;
    }
    if (i % kPart != kPart - 1) continue;
    lock.unlock();
    lock.lock();
    if (std::exchange(seen, index_) != index_) i = ~std::uint64_t{0};  // a new file: once more
  }
}

}  // namespace zazen
