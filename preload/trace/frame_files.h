// The set of files that were opened as frames, by (device, inode), for the copy or the origin.
// A descriptor is identified by fstat, so dup, inheritance and streams need no tracking
// (numpy.fromfile uses two of these). A number that was closed without our hook and used again
// causes no error.
//
// A set of fixed size that only grows, without locks: a signal handler may use it.
#pragma once
#include <cstddef>

namespace zazen::trace {

constexpr std::size_t kMaxFrameFiles = std::size_t{1} << 22;

bool make_frame_files();  // false: no memory

void add_frame_file(int fd);
bool is_frame_file(int fd);
bool frame_files_are_full();  // some files did not fit

}  // namespace zazen::trace
