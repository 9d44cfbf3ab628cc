// Lists a directory with std::filesystem and reads what looks like a frame with std::ifstream.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

namespace fs = std::filesystem;

int main(int, char** argv) {
  std::set<fs::path> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argv[1])) {
    std::cout << (entry.is_regular_file() ? entry.file_size() : 0) << ' ' << entry.is_symlink()
              << ' ' << entry.hard_link_count() << '\n';
    names.insert(entry.path());
  }
  for (const fs::path& name : names) {
    std::cout << name << ' ' << fs::canonical(name) << ' '
              << fs::last_write_time(name).time_since_epoch().count() << ' '
              << static_cast<unsigned>(fs::status(name).permissions()) << '\n';
    if (!fs::is_regular_file(name)) continue;
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    auto size = file.tellg();
    file.seekg(0);
    unsigned long sum = 0;
    for (std::istreambuf_iterator<char> byte(file), end; byte != end; ++byte) {
      sum = sum * 31 + static_cast<unsigned char>(*byte);
    }
    std::cout << size << ' ' << sum << ' ' << file.good() << '\n';
  }
  std::ifstream missing(fs::path(argv[1]) / "f404");
  std::cout << missing.is_open() << '\n';
}
