// Pushes files to a node, as a writer does, several at a time, and prints for each frame its
// name and the answer: 0 or an errno. `natives` prints the numbers that the node holds.
//   push_frames PEER KEY_FILE|- DATASET bytes|fd|origin NAME FILE [NAME FILE]...
//   push_frames PEER KEY_FILE|- DATASET natives
// Exit status 3: no link; what was answered until then is printed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/push/node_link.h"

using namespace zazen;

namespace {

constexpr int kNoLink = 3;
constexpr std::size_t kAtOnce = 16;

int fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\nhint: %s\n", error.context.c_str(), std::strerror(error.code),
               error.hint.c_str());
  return kNoLink;
}

std::string read_whole(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

struct Frame {
  std::string name;
  std::string bytes;
  UniqueFd fd;
  PushContent content;
};

Frame frame_of(const std::string& how, const char* name, const char* path) {
  Frame frame;
  frame.name = name;
  if (how == "bytes") {
    frame.bytes = read_whole(path);
    return frame;
  }
  frame.fd = UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
  struct stat st = {};
  if (::fstat(frame.fd.get(), &st) != 0) std::perror(path);
  frame.content.fd = frame.fd.get();
  frame.content.size = static_cast<std::uint64_t>(st.st_size);
  if (how == "origin") frame.content.origin = st;
  return frame;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  std::string key_file = std::strcmp(argv[2], "-") == 0 ? "" : argv[2], how = argv[4];
  Result<Credentials> credentials = load_credentials(key_file);
  if (!credentials) return fail(credentials.error());
  Result<std::unique_ptr<NodeLink>> link = NodeLink::connect(argv[1], *credentials, 10'000);
  if (!link) return fail(link.error());
  if (how == "natives") {
    Result<FrameSet> natives = (*link)->natives(argv[3]);
    if (!natives) return fail(natives.error());
    for (FrameSeq seq : natives->frames()) std::printf("%llu\n", (unsigned long long)seq);
    return 0;
  }
  std::vector<Frame> frames;
  for (int i = 5; i + 1 < argc; i += 2) frames.push_back(frame_of(how, argv[i], argv[i + 1]));
  std::size_t started = 0, answered = 0;
  while (answered < frames.size()) {
    if (started < frames.size() && started - answered < kAtOnce) {
      Frame& frame = frames[started];
      frame.content.bytes = std::as_bytes(std::span(frame.bytes));
      Status sent = (*link)->start_push(started++, argv[3], frame.name, frame.content);
      if (!sent) return fail(sent.error());
      continue;
    }
    Result<PushAnswer> answer = (*link)->next_answer();
    if (!answer) return fail(answer.error());
    std::printf("%s %d\n", frames[answer->request].name.c_str(), answer->status);
    std::fflush(stdout);
    ++answered;
  }
  return 0;
}
