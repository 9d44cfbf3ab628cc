// Is the descriptor that a client handed over the frame that it claims to be? (D7, D15)
//
// The daemon never opens what a client names. It takes the client's descriptor, which the
// kernel gave it by the client's own rights, and looks the name up itself, only to compare
// device and inode: so nobody can plant another file's content under a frame's name. A frame
// that is a symbolic link is never cached.
#pragma once
#include <sys/stat.h>

#include <string>

#include "bodhi/config.h"

namespace zazen {

// 0 and the descriptor's stat, or an errno: EBADF not open for reading, EINVAL not a regular
// file, EPERM not the file of that name, ENOENT no such file or dataset.
int verify_origin(const DatasetConfig& dataset, const std::string& name, int fd,
                  struct stat* out);

// Somebody on this machine has the file open, or mapped, for writing: what is read now may
// change without any mark (a store to a mapped page moves no time). False if that cannot be
// known.
bool has_writer(int origin_fd);

}  // namespace zazen
