// close and fclose. The hook finds out before the call whether the descriptor is a frame's.
// Before the program closes its standard error, the hook prints the trace (printout.h).
#include "preload/trace/frame_files.h"
#include "preload/trace/next.h"
#include "preload/trace/printout.h"
#include "preload/trace/record.h"

namespace {

template <class Call>
int traced_close(int fd, const void* caller, Call call) {
  if (!zazen::trace::is_tracing()) [[unlikely]]
    return call();
  bool frame = false;
  {
    zazen::ErrnoKeeper keep;
    frame = zazen::trace::is_frame_file(fd);
    if (fd == STDERR_FILENO) zazen::trace::print_before_stderr_closes();
  }
  return zazen::trace::measured(call, [&](int result, std::uint64_t nanoseconds) {
    if (result == 0) zazen::trace::record_close(frame, nanoseconds, caller);
  });
}

int fd_of(FILE* stream) {
  zazen::ErrnoKeeper keep;
  return zazen::trace::is_tracing() ? ::fileno(stream) : -1;
}

}  // namespace

ZAZEN_HOOK int close(int fd) {
  return traced_close(fd, ZAZEN_CALLER,
                      [&] { return ZAZEN_NEXT(close, (fd), zazen::raw::close(fd)); });
}

ZAZEN_HOOK int fclose(FILE* stream) {
  return traced_close(fd_of(stream), ZAZEN_CALLER,
                      [&] { return zazen::trace::late(zazen::trace::next.fclose)(stream); });
}
