// traced_cxx FRAME...: reads frames by std::ifstream in a member function; a name that is not
// there is an exception. The inline functions of the library's headers are between the two.
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace analysis {

struct Reader {
  [[gnu::noinline]] long read(const char* path) {
    char bytes[1000];
    std::ifstream file(path, std::ios::binary);  // the open
    if (!file) throw std::runtime_error("no such frame");
    file.read(bytes, sizeof bytes);  // the read
    return sum += file.gcount();
  }
  long sum = 0;
};

}  // namespace analysis

int main(int argc, char** argv) {
  analysis::Reader reader;
  for (int i = 1; i < argc; ++i) {
    try {
      std::cout << reader.read(argv[i]) << "\n";
    } catch (const std::exception& error) {
      std::cout << error.what() << "\n";
    }
  }
}
