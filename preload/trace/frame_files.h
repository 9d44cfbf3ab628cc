// Which files are frames: the (device, inode) of each that was opened as one, whether the copy
// or the origin. A descriptor is asked about by fstat, so that it does not matter whether it
// was dup'ed, inherited or put into a stream (numpy.fromfile does two of these), and a number
// that was closed behind our back and used again is no riddle.
//
// A set that only grows, of fixed size, without locks: a signal handler may use it.
#pragma once
#include <cstddef>

namespace zazen::trace {

constexpr std::size_t kMaxFrameFiles = std::size_t{1} << 22;

bool make_frame_files();  // false: no memory

void add_frame_file(int fd);
bool is_frame_file(int fd);
bool frame_files_are_full();  // some were not taken in any more

}  // namespace zazen::trace
