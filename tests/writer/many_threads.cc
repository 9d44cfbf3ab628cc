// Writes, flushes, asks and reads with one handle from many threads at a time, as fast as it
// can: many_threads CONFIG DIRECTORY THREADS FRAMES. The frame SEQ is SEQ % 5000 + 1 bytes of
// SEQ % 251. It says what became of them. Sanitized where the preset is.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bodhi/bodhi.h"

namespace {

std::string content(unsigned long seq) {
  return std::string(seq % 5000 + 1, static_cast<char>(seq % 251));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  bodhi* nodes = bodhi_open(argv[1]);
  if (nodes == nullptr) return 1;
  const char* directory = argv[2];
  const unsigned long count = std::stoul(argv[3]), frames = std::stoul(argv[4]);
  std::atomic<unsigned long> wrong{0}, writing{count};

  std::vector<std::thread> threads;
  for (unsigned long thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned long seq = thread; seq < frames; seq += count) {
        std::string bytes = content(seq);
        if (bodhi_write(nodes, directory, seq, bytes.data(), bytes.size()) != 0) ++wrong;
        if (seq % 100 == 0 && bodhi_write(nodes, "/nowhere", seq, "x", 1) != -1) ++wrong;
      }
      --writing;
    });
  }
  threads.emplace_back([&] {
    while (writing > 0) bodhi_flush(nodes, 20);
  });
  threads.emplace_back([&] {
    std::vector<char> buffer(8192);
    for (unsigned long seq = 0; writing > 0; seq = (seq + 1) % frames) {
      bodhi_writer_figures figures;
      bodhi_query_writer(nodes, &figures, sizeof figures);
      if (figures.queued != figures.pushed + figures.dropped + figures.waiting) ++wrong;
      ssize_t got = bodhi_read(nodes, directory, seq, buffer.data(), buffer.size(), 0);
      if (got >= 0 && std::string(buffer.data(), static_cast<std::size_t>(got)) != content(seq))
        ++wrong;
      bodhi_query(nodes, directory, BODHI_NATIVE, 0, ~0ULL, nullptr, 0);
    }
  });
  for (std::thread& thread : threads) thread.join();

  if (bodhi_flush(nodes, 100'000) != 0) std::printf("flush: %s\n", bodhi_error());
  bodhi_writer_figures figures;
  bodhi_query_writer(nodes, &figures, sizeof figures);
  std::printf("wrong %lu pushed %lu dropped %lu\n", wrong.load(),
              static_cast<unsigned long>(figures.pushed),
              static_cast<unsigned long>(figures.dropped));
  bodhi_close(nodes);
  return 0;
}
