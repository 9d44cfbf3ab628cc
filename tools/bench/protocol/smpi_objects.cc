// Memory for what SimGrid keeps for each message, loaded before SimGrid when it simulates the
// protocol.
//
// For each message that ends SimGrid looks through the list of its host's messages, which are
// thousands; whenever one begins or ends it goes through all that are under way, by lists, to
// share the links out anew. Where malloc puts all kinds of objects between two of a list, each
// step waits for the memory: 80 ns, two thirds of all time on 512 hosts. Here objects of one
// size that are made one after the other lie one after the other, in large pages. All else is
// left to malloc, and what the protocol computes is measured with it.
//
// A block is used again, for any size, when none of its objects lives. For one thread: SimGrid
// runs its hosts in turns.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>

namespace {

// As SimGrid 3.32 asks for them.
constexpr std::size_t kSizes[] = {24, 56, 104, 112, 128, 216, 272, 320, 416};
constexpr std::size_t kLargest = 416;
constexpr std::size_t kNodeBytes = 24;  // of a list: two links and a pointer
constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::size_t kBlocks = 1 << 18;  // 16 GB of addresses, not of memory
constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Block {
  std::uint32_t living = 0;
  std::uint32_t next_free = kNone;
  std::uint8_t pool = 0;
};
struct Pool {
  std::uint32_t current = kNone;
  std::uint32_t used = kBlockBytes;  // bytes of the current block
};
Block blocks[kBlocks];
Pool pools[std::size(kSizes)];
std::byte* memory = nullptr;
std::uint32_t begun = 0;           // blocks that were ever used
std::uint32_t free_block = kNone;  // the first of those that are free again

constexpr auto kPoolOf = [] {
  struct {
    std::int8_t of[kLargest + 1];
  } table{};
  std::ranges::fill(table.of, std::int8_t{-1});
  for (std::size_t p = 0; p < std::size(kSizes); ++p)
    table.of[kSizes[p]] = static_cast<std::int8_t>(p);
  return table;
}();

bool reserve_memory() {
  void* got = mmap(nullptr, kBlocks * kBlockBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return false;
  memory = static_cast<std::byte*>(got);
  madvise(memory, kBlocks * kBlockBytes, MADV_HUGEPAGE);
  return true;
}

bool take_block(std::uint8_t p) {
  if (memory == nullptr && !reserve_memory()) return false;
  Pool& pool = pools[p];
  if (free_block != kNone) {
    pool.current = free_block;
    free_block = blocks[pool.current].next_free;
  } else if (begun < kBlocks) {
    pool.current = begun++;
  } else {
    return false;
  }
  blocks[pool.current].pool = p;
  pool.used = 0;
  return true;
}

void* take_object(std::uint8_t p) {
  const std::size_t bytes = kSizes[p] == kNodeBytes ? kNodeBytes : (kSizes[p] + 15) / 16 * 16;
  Pool& pool = pools[p];
  if (pool.used + bytes > kBlockBytes && !take_block(p)) return nullptr;
  ++blocks[pool.current].living;
  std::byte* object = memory + pool.current * kBlockBytes + pool.used;
  pool.used += static_cast<std::uint32_t>(bytes);
  return object;
}

bool give_back(void* object) {
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(object) - memory);
  if (memory == nullptr || at >= kBlocks * kBlockBytes) return false;
  const auto b = static_cast<std::uint32_t>(at / kBlockBytes);
  if (--blocks[b].living != 0) return true;
  Pool& pool = pools[blocks[b].pool];
  if (b == pool.current) {
    pool.used = 0;
    return true;
  }
  blocks[b].next_free = free_block;
  free_block = b;
  return true;
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes <= kLargest && kPoolOf.of[bytes] >= 0)
    if (void* object = take_object(static_cast<std::uint8_t>(kPoolOf.of[bytes]))) return object;
  if (void* got = std::malloc(bytes != 0 ? bytes : 1)) return got;
  throw std::bad_alloc();
}
void operator delete(void* what) noexcept {
  if (!give_back(what)) std::free(what);
}
void operator delete(void* what, std::size_t) noexcept {
  operator delete(what);
}
