// Makes a view by hand, as a rank would after the agreement, and shows its tally.
//
//   view_tool run DIR DATASET TEMPLATE LAST OWN... -- PROGRAM ARGUMENTS
//     a view over the frames 0..LAST of which OWN are the rank's; becomes PROGRAM
//   view_tool tally DIR
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bodhi/view.h"

using namespace zazen;

namespace {

std::uint64_t inode(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

void write_file(const std::string& path, const std::string& bytes) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::abort();
  ::close(fd);
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

int run(const std::string& directory, const std::string& dataset, const char* frames,
        FrameSeq last, const std::vector<FrameSeq>& own, char** program) {
  std::string bytes(sizeof(View) + sizeof(ViewDataset), '\0');
  ViewDataset seen = {};
  std::strcpy(seen.path, dataset.c_str());
  std::strcpy(seen.frames, frames);
  FrameName name;
  const char* why;
  if (!FrameName::parse(frames, std::strlen(frames), &name, &why)) return 2;
  std::string place = dataset + "/" + std::string(name.directory(), name.directory_length());
  seen.frame_directory_ino = inode(place + "/.");
  seen.entry_type = name.entry_is_directory() ? DT_DIR : DT_REG;
  seen.domain_count = last + 1;
  seen.runs_offset = bytes.size();
  seen.runs_count = 1;
  append(bytes, ViewRun{0, 1, last + 1, 0});
  seen.own_offset = bytes.size();
  seen.own_count = own.size();
  for (FrameSeq seq : own) {
    char entry[256];
    name.format_entry(seq, entry, sizeof entry);
    append(bytes, ViewFrame{seq, inode(place + "/" + entry)});
  }
  const char* names[] = {".", "..", "notes.txt"};
  const std::uint8_t types[] = {DT_DIR, DT_DIR, DT_REG};
  seen.names_offset = bytes.size();
  seen.names_count = 3;
  std::uint32_t text = static_cast<std::uint32_t>(bytes.size() + 3 * sizeof(ViewName));
  for (int i = 0; i < 3; ++i) {
    append(bytes, ViewName{inode(place + "/" + names[i]), text, types[i]});
    text += static_cast<std::uint32_t>(std::strlen(names[i]) + 1);
  }
  for (const char* each : names) bytes.append(each, std::strlen(each) + 1);
  seen.opened_offset = sizeof(Tally) + sizeof(TallyDataset);

  View head = {};
  head.magic = kViewMagic;
  head.version = kViewVersion;
  head.dataset_count = 1;
  head.file_size = bytes.size();
  head.tally_size = seen.opened_offset + (last / 64 + 1) * 8;
  head.ranks = 2;
  head.nodes = 1;
  head.owner_pid = ::getpid();
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, &seen, sizeof seen);

  std::string tally(head.tally_size, '\0');
  std::memcpy(tally.data(), &kViewMagic, sizeof kViewMagic);
  write_file(directory + "/view", bytes);
  write_file(directory + "/tally", tally);
  ::setenv(kViewVariable, directory.c_str(), 1);
  ::execvp(program[0], program);
  return 127;
}

int show_tally(const char* directory) {
  const View* view;
  Tally* tally;
  if (!map_view(directory, &view, &tally)) return 1;
  const ViewDataset& dataset = view->datasets[0];
  std::printf(
      "{\"hits\": %lu, \"misses\": %lu, \"listed\": %lu, \"outside\": %lu, \"opened\": [",
      tally->hits.load(), tally->misses.load(), tally->datasets[0].listed.load(),
      tally->datasets[0].opened_outside.load());
  const char* comma = "";
  for (std::uint64_t i = 0; i < dataset.domain_count; ++i) {
    if ((opened_words(tally, dataset)[i / 64].load() >> (i % 64) & 1) == 0) continue;
    std::printf("%s%lu", comma, i);
    comma = ", ";
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "tally") == 0) return show_tally(argv[2]);
  if (argc < 7 || std::strcmp(argv[1], "run") != 0) return 2;
  std::vector<FrameSeq> own;
  int i = 6;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    own.push_back(std::strtoull(argv[i], nullptr, 10));
  }
  if (i + 1 >= argc) return 2;
  return run(argv[2], argv[3], argv[4], std::strtoull(argv[5], nullptr, 10), own, argv + i + 1);
}
