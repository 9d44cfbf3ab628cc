// The C API for readers: a frame's descriptor or bytes, and what the node holds.
#include <algorithm>
#include <cstring>

#include "bodhi/bodhi.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/library/api_border.h"
#include "bodhi/library/frame_reader.h"

using zazen::refuse;
using zazen::within_border;

BODHI_API int bodhi_open_frame(bodhi* handle, const char* simdir, uint64_t seq) {
  return within_border(handle, simdir, [&] {
    zazen::Result<zazen::UniqueFd> fd = handle->reader->open(simdir, seq);
    return fd ? fd->release() : refuse(fd.error());
  });
}

BODHI_API ssize_t bodhi_read(bodhi* handle, const char* simdir, uint64_t seq, void* buffer,
                             size_t size, off_t offset) {
  return within_border(handle, simdir, [&]() -> ssize_t {
    zazen::Result<zazen::UniqueFd> fd = handle->reader->open(simdir, seq);
    if (!fd) return refuse(fd.error());
    long got = zazen::raw_read_at(fd->get(), static_cast<char*>(buffer), size, offset);
    if (got >= 0) return got;
    return refuse(static_cast<int>(-got), std::string(simdir) + ": frame " +
                                              std::to_string(seq) + ": " +
                                              std::strerror(static_cast<int>(-got)));
  });
}

BODHI_API ssize_t bodhi_query(bodhi* handle, const char* simdir, unsigned kinds, uint64_t first,
                              uint64_t last, uint64_t* seqs, size_t capacity) {
  return within_border(handle, simdir, [&]() -> ssize_t {
    auto held = handle->reader->held(simdir, (kinds & BODHI_NATIVE) != 0,
                                     (kinds & BODHI_ALIEN) != 0, {first, last});
    if (!held) return refuse(held.error());
    if (seqs != nullptr) std::copy_n(held->begin(), std::min(capacity, held->size()), seqs);
    return static_cast<ssize_t>(held->size());
  });
}
