// FrameMemory: memory for the bytes of queued frames, which is reused.
//
// A large block that is freed goes back to the kernel. The next block comes from there page by
// page, which takes longer than copying the frame. The frames of a simulation have about the
// same size. So a returned block is kept for the next frame, as long as it and all blocks in
// use stay within the limit.
//
// Thread safe. Blocks may outlive their FrameMemory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace zazen {

class FrameMemory {
  struct Blocks;

 public:
  class GiveBack {
   public:
    GiveBack() = default;
    void operator()(std::byte* bytes) const noexcept;

   private:
    friend class FrameMemory;
    GiveBack(std::shared_ptr<Blocks> blocks, std::size_t capacity)
        : blocks_(std::move(blocks)), capacity_(capacity) {}

    std::shared_ptr<Blocks> blocks_;  // null: a small block, which malloc reuses itself
    std::size_t capacity_ = 0;
  };
  using Block = std::unique_ptr<std::byte[], GiveBack>;

  explicit FrameMemory(std::uint64_t limit_bytes)
      : blocks_(std::make_shared<Blocks>(limit_bytes)) {}

  Block take(std::size_t size) const;  // empty if there is no memory
  std::uint64_t idle_bytes() const;

 private:
  using Bytes = std::unique_ptr<std::byte[]>;
  struct Idle {
    Bytes bytes;
    std::size_t capacity;
  };
  struct Blocks {
    explicit Blocks(std::uint64_t limit) : limit_bytes(limit) { idle.reserve(kMostIdle); }

    Bytes take_idle(std::size_t size, std::size_t* capacity);
    Bytes take_surplus(std::uint64_t wanted_bytes);
    void make_room(std::uint64_t wanted_bytes);
    void keep(Bytes bytes, std::size_t capacity);

    static constexpr std::size_t kMostIdle = 64;
    const std::uint64_t limit_bytes;
    std::mutex mutex;
    std::vector<Idle> idle;  // by age; never grows beyond its reserved capacity
    std::uint64_t idle_bytes = 0, used_bytes = 0;
  };

  const std::shared_ptr<Blocks> blocks_;
};

}  // namespace zazen
