// The shared libraries that the loader would load for a program, found without running
// anything. It follows DT_NEEDED from library to library, and searches where the loader does
// (DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the loader's cache, the system's directories).
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/doctor/elf_file.h"

namespace zazen {

struct SharedLibraries {
  std::set<std::string> names;       // every DT_NEEDED name, found or not
  std::vector<std::string> missing;  // those that were not found
};

SharedLibraries libraries_of(const std::string& path, const ElfFile& program,
                             const std::string& loader_cache = "/etc/ld.so.cache");

// The paths for a name in the text of a loader's cache, one for each kind of machine that has
// the library. No byte outside the text is read, whatever the text is.
std::vector<std::string> find_in_loader_cache(const std::string& text, const std::string& name);

}  // namespace zazen
