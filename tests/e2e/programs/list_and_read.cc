// The same ordinary program in C++: std::filesystem::directory_iterator and std::ifstream.
#include <mpi.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "adler.h"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  std::ofstream out(std::string(argv[2]) + "/rank-" + std::to_string(rank));
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::string name = entry.path().filename().string();
    out << "list " << name << '\n';
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file || bytes.size() != entry.file_size()) MPI_Abort(MPI_COMM_WORLD, 1);
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    out << "read " << bytes.size() << ' ' << adler_update(1, data, bytes.size()) << ' ' << name
        << '\n';
  }
  out.close();
  if (!out) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
}
