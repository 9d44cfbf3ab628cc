// Makes a view by hand, as a rank would after the agreement, and shows its tally.
//
//   view_tool run DIR DATASET TEMPLATE LAST OWN... -- PROGRAM ARGUMENTS
//     a view over the frames 0..LAST of which OWN (numbers, or ranges A..B) are the rank's,
//     whether the dataset has them or not; becomes PROGRAM
//   view_tool tally DIR
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bodhi/lean/frames/view.h"
#include "bodhi/node/listing.h"

using namespace zazen;

namespace {

std::uint64_t inode(const Listing& listing, FrameSeq seq) {
  auto at = std::lower_bound(listing.frames.begin(), listing.frames.end(), seq);
  if (at == listing.frames.end() || *at != seq) return 0;
  return listing.inodes[static_cast<std::size_t>(at - listing.frames.begin())];
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
  Result<Listing> listed = list_directory(frame_directory(dataset, name), name);
  if (!listed) return 1;
  const Listing& listing = *listed;
  seen.frame_directory_ino = listing.directory.ino;
  seen.entry_type = name.entry_is_directory() ? DT_DIR : DT_REG;
  seen.domain_count = last + 1;
  seen.runs_offset = bytes.size();
  seen.runs_count = 1;
  append(bytes, ViewRun{0, 1, last + 1, 0});
  seen.own_offset = bytes.size();
  seen.own_count = own.size();
  seen.own_runs = own.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    append(bytes, ViewOwnRun{own[i], inode(listing, own[i]), i, 1, 0});
  seen.names_offset = bytes.size();
  seen.names_count = listing.others.size();
  std::size_t text = bytes.size() + listing.others.size() * sizeof(ViewName);
  for (const OrdinaryName& each : listing.others) {
    append(bytes, ViewName{each.ino, static_cast<std::uint32_t>(text), each.type});
    text += each.name.size() + 1;
  }
  for (const OrdinaryName& each : listing.others) {
    bytes.append(each.name.c_str(), each.name.size() + 1);
  }
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
    char* end;
    FrameSeq first = std::strtoull(argv[i], &end, 10);
    FrameSeq final = *end == '\0' ? first : std::strtoull(end + 2, nullptr, 10);
    for (FrameSeq seq = first; seq <= final; ++seq) own.push_back(seq);
  }
  if (i + 1 >= argc) return 2;
  return run(argv[2], argv[3], argv[4], std::strtoull(argv[5], nullptr, 10), own, argv + i + 1);
}
