#include "bodhi/writer/frame_memory.h"

#include <algorithm>
#include <new>
#include <utility>

namespace zazen {
namespace {

constexpr std::size_t kSmallBytes = 128 << 10;  // malloc gives larger ones back to the kernel

// Frames of one simulation differ little in size; a small frame does not use a large block.
bool fits(std::size_t capacity, std::size_t size) {
  return capacity >= size && capacity - size <= size / 16;
}

}  // namespace

FrameMemory::Block FrameMemory::take(std::size_t size) const {
  if (size <= kSmallBytes) {
    return Block(new (std::nothrow) std::byte[std::max<std::size_t>(size, 1)]);
  }
  std::size_t capacity = size;
  Bytes bytes = blocks_->take_idle(size, &capacity);
  if (!bytes) {
    blocks_->make_room(size);
    bytes.reset(new (std::nothrow) std::byte[size]);
  }
  if (!bytes) return {};
  std::lock_guard lock(blocks_->mutex);
  blocks_->used_bytes += capacity;
  return Block(bytes.release(), GiveBack(blocks_, capacity));
}

std::uint64_t FrameMemory::idle_bytes() const {
  std::lock_guard lock(blocks_->mutex);
  return blocks_->idle_bytes;
}

void FrameMemory::GiveBack::operator()(std::byte* bytes) const noexcept {
  Bytes owned(bytes);
  if (blocks_) blocks_->keep(std::move(owned), capacity_);
}

FrameMemory::Bytes FrameMemory::Blocks::take_idle(std::size_t size, std::size_t* capacity) {
  std::lock_guard lock(mutex);
  auto found =
      std::ranges::find_if(idle, [&](const Idle& block) { return fits(block.capacity, size); });
  if (found == idle.end()) return nullptr;
  Bytes bytes = std::move(found->bytes);
  *capacity = found->capacity;
  idle_bytes -= found->capacity;
  idle.erase(found);
  return bytes;
}

// Removes the oldest block, because the size of frames may have changed.
FrameMemory::Bytes FrameMemory::Blocks::take_surplus(std::uint64_t wanted_bytes) {
  std::lock_guard lock(mutex);
  const bool is_full = idle.size() == kMostIdle;
  if (idle.empty() || (!is_full && used_bytes + idle_bytes + wanted_bytes <= limit_bytes)) {
    return nullptr;
  }
  Bytes bytes = std::move(idle.front().bytes);
  idle_bytes -= idle.front().capacity;
  idle.erase(idle.begin());
  return bytes;
}

// Releases the lock while a block is freed, which may take long.
void FrameMemory::Blocks::make_room(std::uint64_t wanted_bytes) {
  while (take_surplus(wanted_bytes)) {
  }
}

void FrameMemory::Blocks::keep(Bytes bytes, std::size_t capacity) {
  {
    std::lock_guard lock(mutex);
    used_bytes -= capacity;
  }
  make_room(capacity);
  std::lock_guard lock(mutex);
  if (idle.size() == kMostIdle || used_bytes + idle_bytes + capacity > limit_bytes) return;
  idle.push_back({std::move(bytes), capacity});
  idle_bytes += capacity;
}

}  // namespace zazen
