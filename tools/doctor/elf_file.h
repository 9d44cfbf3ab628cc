// ElfFile: the facts of an ELF file that decide whether LD_PRELOAD reaches a program.
//
// The file may be anybody's. Every offset, count and string is checked against its size, and
// sizes beyond reason are refused. It is read by preads of the parts that matter, so a file
// that shrinks meanwhile gives a short read. Only files of this machine's class and byte order
// are parsed; of others only the header is known.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct ElfFile {
  bool is_64bit = false;
  bool is_little_endian = false;
  std::uint16_t machine = 0;  // EM_*
  std::uint16_t type = 0;     // ET_*

  // Known only if is_native().
  std::string interpreter;  // PT_INTERP; "" if there is none: static
  std::vector<std::string> needed;
  std::string rpath, runpath;
  bool is_dynamic = false;  // it has a dynamic section
  bool is_pie = false;      // DF_1_PIE
  bool is_go = false;       // it has the Go tool chain's section

  bool is_native() const { return is_64bit && is_little_endian; }
};

// ENOEXEC: not an ELF file; EBADMSG: one, but damaged (the context says where).
Result<ElfFile> read_elf(const std::string& path);
Result<ElfFile> read_elf(int fd);

std::string machine_name(const ElfFile& file);  // "64-bit x86-64"

}  // namespace zazen
