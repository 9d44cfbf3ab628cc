// Memory for the nodes of SimGrid's lists, loaded before SimGrid when it simulates the
// protocol.
//
// For each message that ends SimGrid looks through the list of its host's messages, which are
// thousands. Between two nodes malloc puts a kilobyte of what else a message takes, and each
// step waits for the memory: 80 ns, two thirds of all time on 512 hosts. Here nodes that are
// made one after the other lie one after the other. All else is left to malloc, and what the
// protocol computes is measured with it.
//
// A block is used again when none of its nodes lives. For one thread: SimGrid runs its hosts in
// turns.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kNodeBytes = 24;  // two links and a pointer
constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::size_t kBlocks = 1 << 17;  // 8 GB of addresses, not of memory
constexpr std::size_t kNodesInBlock = kBlockBytes / kNodeBytes;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Block {
  std::uint32_t living = 0;
  std::uint32_t next_free = kNone;
};
Block blocks[kBlocks];
std::byte* memory = nullptr;
std::uint32_t begun = 0;           // blocks that were ever used
std::uint32_t free_block = kNone;  // the first of those that are free again
std::uint32_t current = kNone;
std::size_t used = kNodesInBlock;  // nodes of the current one

bool take_block() {
  if (memory == nullptr) {
    void* got = mmap(nullptr, kBlocks * kBlockBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return false;
    memory = static_cast<std::byte*>(got);
  }
  if (free_block != kNone) {
    current = free_block;
    free_block = blocks[current].next_free;
  } else if (begun < kBlocks) {
    current = begun++;
  } else {
    return false;
  }
  used = 0;
  return true;
}

void* take_node() {
  if (used == kNodesInBlock && !take_block()) return nullptr;
  ++blocks[current].living;
  return memory + current * kBlockBytes + used++ * kNodeBytes;
}

bool give_back(void* node) {
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(node) - memory);
  if (memory == nullptr || at >= kBlocks * kBlockBytes) return false;
  const auto b = static_cast<std::uint32_t>(at / kBlockBytes);
  if (--blocks[b].living != 0) return true;
  if (b == current) {
    used = 0;
    return true;
  }
  blocks[b].next_free = free_block;
  free_block = b;
  return true;
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes == kNodeBytes)
    if (void* node = take_node()) return node;
  if (void* got = std::malloc(bytes != 0 ? bytes : 1)) return got;
  throw std::bad_alloc();
}
void operator delete(void* what) noexcept {
  if (!give_back(what)) std::free(what);
}
void operator delete(void* what, std::size_t) noexcept {
  operator delete(what);
}
