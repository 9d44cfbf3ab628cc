// The names in a directory by std::filesystem: one line for each way, the names sorted.
//
//   filesystem_roads DIRECTORY
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

namespace fs = std::filesystem;

namespace {

void show(const char* way, const std::set<std::string>& names) {
  std::printf("%s:", way);
  for (const std::string& name : names) std::printf(" %s", name.c_str());
  std::puts("");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    names.insert(entry.path().filename());
  }
  show("directory_iterator", names);
  names.clear();
  for (auto at = fs::recursive_directory_iterator(argv[1]); at != fs::end(at); ++at) {
    if (at.depth() == 0) names.insert(at->path().filename());
  }
  show("recursive_directory_iterator", names);
  return 0;
}
