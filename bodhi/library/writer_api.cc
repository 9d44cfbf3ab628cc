// The C API for writers: write, flush and their figures.
#include <algorithm>
#include <cstring>

#include "bodhi/bodhi.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/library/api_border.h"
#include "bodhi/writer/writer.h"

namespace zazen {
namespace {

constexpr std::int64_t kTryAgainMs = 1'000;

Result<std::shared_ptr<Writer>> start_writer(const bodhi& handle) {
  Result<WriterSettings> settings = writer_settings(handle.config, handle.runtime);
  if (!settings) return settings.error();
  return Writer::start(std::move(*settings));
}

// The handle's writer, which starts at the first use.
Result<std::shared_ptr<Writer>> writer_of(bodhi& handle) {
  std::lock_guard lock(handle.lock);
  if (handle.writer) return handle.writer;
  const std::int64_t now_ms = monotonic_ms();
  bool tried = handle.tried_at_ms != 0 && now_ms - handle.tried_at_ms < kTryAgainMs;
  if (tried) return Error{EINVAL, handle.writer_error, {}};
  handle.tried_at_ms = now_ms;
  Result<std::shared_ptr<Writer>> started = start_writer(handle);
  if (started) {
    handle.writer = *started;
  } else {
    handle.writer_error = started.error().context;
  }
  return started;
}

std::shared_ptr<Writer> present_writer(bodhi& handle) {
  std::lock_guard lock(handle.lock);
  return handle.writer;
}

template <class Write>
int write_with(bodhi* handle, const char* simdir, Write write) {
  return within_border(handle, simdir, [&] {
    Result<std::shared_ptr<Writer>> writer = writer_of(*handle);
    if (!writer) return refuse(writer.error());
    Status written = write(**writer);
    return written ? 0 : refuse(written.error());
  });
}

// Copies as much of the struct as the caller's version has.
template <class Struct>
int copy_out(const Struct& from, Struct* out, std::size_t size) {
  if (out == nullptr) return refuse(EINVAL, "no place for the figures");
  std::memset(out, 0, size);
  std::memcpy(out, &from, std::min(size, sizeof from));
  return 0;
}

}  // namespace
}  // namespace zazen

using zazen::within_border;

BODHI_API int bodhi_write(bodhi* handle, const char* simdir, uint64_t seq, const void* data,
                          size_t size) {
  return zazen::write_with(handle, simdir, [&](zazen::Writer& writer) -> zazen::Status {
    if (data == nullptr && size > 0) return zazen::Error{EINVAL, "no data", {}};
    return writer.write(simdir, seq, {static_cast<const std::byte*>(data), size});
  });
}

BODHI_API int bodhi_write_file(bodhi* handle, const char* simdir, uint64_t seq) {
  return zazen::write_with(
      handle, simdir, [&](zazen::Writer& writer) { return writer.write_file(simdir, seq); });
}

BODHI_API int bodhi_flush(bodhi* handle, int timeout_ms) {
  return within_border(handle, "", [&] {
    std::shared_ptr<zazen::Writer> writer = zazen::present_writer(*handle);
    zazen::Status flushed = writer ? writer->flush(timeout_ms) : zazen::Done{};
    return flushed ? 0 : zazen::refuse(flushed.error());
  });
}

BODHI_API int bodhi_query_writer(bodhi* handle, bodhi_writer_figures* out, size_t size) {
  return within_border(handle, "", [&] {
    std::shared_ptr<zazen::Writer> writer = zazen::present_writer(*handle);
    zazen::Writer::Figures figures;
    if (writer) figures = writer->figures();
    bodhi_writer_figures shown = {
        .queued = figures.queued,
        .pushed = figures.pushed,
        .dropped = figures.dropped,
        .waiting = figures.waiting,
        .spooled = figures.spooled,
        .bytes = figures.bytes,
        .memory_bytes = figures.memory_bytes,
        .spool_bytes = figures.spool_bytes,
    };
    return zazen::copy_out(shown, out, size);
  });
}

BODHI_API int bodhi_query_node(bodhi* handle, size_t node, bodhi_node_figures* out,
                               size_t size) {
  return within_border(handle, "", [&] {
    std::shared_ptr<zazen::Writer> writer = zazen::present_writer(*handle);
    std::optional<zazen::Writer::NodeFigures> figures;
    if (writer) figures = writer->node_figures(node);
    if (!figures) return zazen::refuse(ENOENT, "no such node: " + std::to_string(node));
    bodhi_node_figures shown = {.pushed = figures->pushed,
                                .bytes = figures->bytes,
                                .answers = figures->answers,
                                .peer = {}};
    figures->peer.copy(shown.peer, sizeof shown.peer - 1);
    return zazen::copy_out(shown, out, size);
  });
}
