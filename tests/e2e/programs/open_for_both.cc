// Opens each file with a std::fstream, reads its first bytes and closes it.
#include <fstream>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::fstream file(argv[i], std::ios::binary | std::ios::in | std::ios::out);
    char bytes[8];
    if (!file.read(bytes, sizeof bytes)) return 1;
  }
  return 0;
}
