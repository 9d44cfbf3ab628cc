#include "preload/listings/directory_stream.h"

#include <sys/mman.h>

#include <cstring>

#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/frames/open_counts.h"
#include "preload/process/division.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

constexpr std::size_t kSlots = 64;

struct Block {
  DirectoryStream slots[kSlots];
  std::atomic<Block*> next;
};

ZAZEN_SELDOM_USED constinit Block first_block{};
constinit std::atomic<std::uint32_t> open_streams{0};

DIR* const kClaimed = reinterpret_cast<DIR*>(1);

Block* block_after(Block& block) {
  Block* next = block.next.load(std::memory_order_acquire);
  if (next != nullptr) return next;
  void* memory = ::mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Block* fresh = static_cast<Block*>(memory);
  if (block.next.compare_exchange_strong(next, fresh, std::memory_order_acq_rel)) return fresh;
  ::munmap(memory, sizeof(Block));
  return next;
}

void set_record_length(struct dirent64* out, std::size_t name_length) {
  std::size_t size = offsetof(struct dirent64, d_name) + name_length + 1;
  out->d_reclen = static_cast<unsigned short>((size + 7) & ~std::size_t{7});
}

}  // namespace

bool listings_are_watched() {
  return settings.active && !guard_is_raised() && !mpi_starts &&
         (current_view() != nullptr || settings.ledger != nullptr || early_listings_matter());
}

StreamSource source_of(const struct stat& directory) {
  ErrnoKeeper keep;
  StreamSource source;
  DirectoryKey key{directory.st_dev, directory.st_ino}, own;
  if (const CurrentView* view = current_view()) {
    for (std::uint32_t i = 0; i < view->view->dataset_count; ++i) {
      if (view->view->datasets[i].frame_directory_ino != key.ino) continue;
      // A directory that cannot be reached, perhaps renamed, still belongs to the rank.
      frame_directory(view->matchers[i], &own);
      if (own != key) continue;
      source.view = view;
      source.dataset = i;
      return source;
    }
    return source;
  }
  bool alive = false;
  const bool is_early = early_listings_matter();
  const Node* node = settings.ledger == nullptr && !is_early ? nullptr : current_node(&alive);
  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    if (node->matchers[i].path_length == 0) continue;
    if (!frame_directory(node->matchers[i], &own) || own != key) continue;
    if (is_early) note_early_listing(*node, i);
    if (settings.ledger == nullptr) return source;
    source.node = node;
    source.dataset = i;
    return source;
  }
  return source;
}

StreamSource source_of_fd(int fd) {
  ErrnoKeeper keep;
  struct stat st;
  if (raw::fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode)) return {};
  return source_of(st);
}

DirectoryStream* claim_stream(const StreamSource& source) {
  ErrnoKeeper keep;
  for (Block* block = &first_block; block != nullptr; block = block_after(*block)) {
    for (DirectoryStream& slot : block->slots) {
      DIR* free_key = nullptr;
      if (slot.key.load(std::memory_order_relaxed) != nullptr ||
          !slot.key.compare_exchange_strong(free_key, kClaimed, std::memory_order_acq_rel)) {
        continue;
      }
      slot.source = source;
      slot.position.store(0, std::memory_order_relaxed);
      open_streams.fetch_add(1, std::memory_order_relaxed);
      return &slot;
    }
  }
  return nullptr;
}

void publish_stream(DirectoryStream* stream, DIR* directory) {
  stream->key.store(directory, std::memory_order_release);
  note_listing(stream->source);
}

void release_stream(DirectoryStream* stream) {
  open_streams.fetch_sub(1, std::memory_order_relaxed);
  stream->key.store(nullptr, std::memory_order_release);
}

DirectoryStream* find_stream(DIR* directory) {
  if (open_streams.load(std::memory_order_relaxed) == 0) [[likely]]
    return nullptr;
  if (directory == nullptr) return nullptr;
  for (Block* block = &first_block; block != nullptr;
       block = block->next.load(std::memory_order_acquire)) {
    for (DirectoryStream& slot : block->slots) {
      if (slot.key.load(std::memory_order_acquire) == directory) return &slot;
    }
  }
  return nullptr;
}

void forget_closed(DIR* directory) {
  if (DirectoryStream* stale = find_stream(directory)) release_stream(stale);
}

bool take_entry(DirectoryStream& stream, struct dirent64* out) {
  const CurrentView& current = *stream.source.view;
  const ViewDataset& dataset = current.view->datasets[stream.source.dataset];
  std::uint64_t end = dataset.names_count + dataset.own_count;
  std::uint64_t at = stream.position.load(std::memory_order_relaxed);
  do {
    if (at >= end) return false;
  } while (!stream.position.compare_exchange_weak(at, at + 1, std::memory_order_relaxed));

  out->d_off = static_cast<off64_t>(at + 1);
  if (at < dataset.names_count) {
    const ViewName& name = other_names(*current.view, dataset)[at];
    const char* text = reinterpret_cast<const char*>(current.view) + name.name_offset;
    std::size_t length = ::strnlen(text, sizeof out->d_name - 1);
    std::memcpy(out->d_name, text, length);
    out->d_name[length] = '\0';
    out->d_ino = name.ino;
    out->d_type = name.type;
    set_record_length(out, length);
    return true;
  }
  const ViewFrame frame = own_frame(*current.view, dataset, at - dataset.names_count);
  const FrameName& name = current.matchers[stream.source.dataset].name;
  out->d_ino = frame.ino;
  out->d_type = dataset.entry_type;
  set_record_length(out, name.format_entry(frame.seq, out->d_name, sizeof out->d_name));
  return true;
}

void note_listing(const StreamSource& source) {
  if (source.view == nullptr) return;
  source.view->tally->datasets[source.dataset].listed.fetch_add(1);
}

void note_entry(const StreamSource& source, const char* name, unsigned char type) {
  const FrameName& frame = source.node->matchers[source.dataset].name;
  FrameSeq seq;
  if (!frame.type_fits(type)) return;
  if (!frame.match_entry(name, std::strlen(name), &seq)) return;
  count_listed(source.node->matchers[source.dataset], seq);
}

struct dirent64* next_entry(DirectoryStream& stream, DIR* directory,
                            struct dirent64* (*read_on)(DIR*)) {
  if (stream.source.view != nullptr) {
    return take_entry(stream, &stream.entry) ? &stream.entry : nullptr;
  }
  struct dirent64* entry = read_on(directory);
  if (entry != nullptr) note_entry(stream.source, entry->d_name, entry->d_type);
  return entry;
}

}  // namespace zazen
