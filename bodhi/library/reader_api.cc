// The C API for readers: a frame's descriptor or bytes, and what the node holds.
#include <algorithm>
#include <cstring>

#include "bodhi/bodhi.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/library/api_border.h"
#include "bodhi/library/frame_list.h"
#include "bodhi/library/frame_reader.h"

using zazen::refuse;
using zazen::within_border;

namespace {

// Returns how many there are; writes as many as the capacity allows.
ssize_t hand_out(const zazen::Result<std::vector<zazen::FrameSeq>>& frames, uint64_t* seqs,
                 size_t capacity) {
  if (!frames) return refuse(frames.error());
  if (seqs != nullptr) std::copy_n(frames->begin(), std::min(capacity, frames->size()), seqs);
  return static_cast<ssize_t>(frames->size());
}

}  // namespace

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
  return within_border(handle, simdir, [&] {
    return hand_out(handle->reader->held(simdir, (kinds & BODHI_NATIVE) != 0,
                                         (kinds & BODHI_ALIEN) != 0, {first, last}),
                    seqs, capacity);
  });
}

BODHI_API ssize_t bodhi_list(bodhi* handle, const char* simdir, int own, uint64_t first,
                             uint64_t last, uint64_t* seqs, size_t capacity) {
  return within_border(handle, simdir, [&]() -> ssize_t {
    zazen::Result<zazen::FrameName> name = handle->reader->name_of(simdir);
    if (!name) return refuse(name.error());
    zazen::FrameList list(simdir);
    return hand_out(list.frames(*name, own != 0, {first, last}), seqs, capacity);
  });
}

BODHI_API int bodhi_is_divided(bodhi* handle, const char* simdir) {
  return within_border(handle, simdir,
                       [&]() -> int { return zazen::FrameList(simdir).is_divided() ? 1 : 0; });
}

BODHI_API ssize_t bodhi_frame_name(bodhi* handle, const char* simdir, uint64_t seq, char* name,
                                   size_t capacity) {
  return within_border(handle, simdir, [&]() -> ssize_t {
    zazen::Result<zazen::FrameName> names = handle->reader->name_of(simdir);
    if (!names) return refuse(names.error());
    const size_t length = names->format(seq, name, capacity);
    if (length == 0) return refuse(ENAMETOOLONG, "no room for the name of a frame");
    return static_cast<ssize_t>(length);
  });
}
