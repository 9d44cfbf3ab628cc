// fuzz_seeds DIRECTORY: writes the inputs that the fuzzers start from, below DIRECTORY/NAME,
// each by the encoder that the product itself uses.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <iterator>

#include "bodhi/lean/frames/identity_index.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/change_notice.h"
#include "bodhi/node/seqlog.h"
#include "bodhi/push/push_wire.h"
#include "coord/audit/tally_fragment.h"
#include "coord/job/view_writer.h"
#include "coord/ranks/job_messages.h"
#include "coord/sets/packed_set.h"
#include "daemon/link/link.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/example_link.h"
#include "tests/fuzz/example_message.h"

namespace zazen {
namespace {

class Corpus {
 public:
  explicit Corpus(std::string directory) : directory_(std::move(directory)) {}

  void add(const std::string& fuzzer, const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(directory_ + "/" + fuzzer);
    std::ofstream file(directory_ + "/" + fuzzer + "/" + name, std::ios::binary);
    file << bytes;
    demand(file.good());
  }

 private:
  std::string directory_;
};

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_packets(const Corpus& corpus) {
  for (const MessageRule& rule : kMessages) {
    std::string packet = example_message(rule);
    demand(message_is_valid(packet.data(), packet.size()));
    corpus.add("wire", rule.name, packet);
  }
}

void add_pushes(const Corpus& corpus) {
  PushHello hello = {kPushMagic, kPushVersion, kByKey, 0, 0, 1 << 30, {}};
  PushIntroduction introduction = {kPushMagic, kPushVersion, kByMunge, 20, 7, {}, {}, {}};
  corpus.add("push_wire", "hello", as_bytes(hello));
  corpus.add("push_wire", "introduction",
             as_bytes(introduction) + std::string(20, 'M') + "n0:7117");
  std::string names = encode(PushNames{"/sim1", "run1/f7"});
  PushHeader push = {
      PushType::kPush, 0, static_cast<std::uint32_t>(names.size()), 1, 4096, 0, 0};
  ContentEnd end = {7, {}};
  PushHeader last = {PushType::kContentEnd, 0, sizeof end, 1, 0, 0, 0};
  corpus.add("push_wire", "names", names);
  corpus.add("push_wire", "push", as_bytes(push) + names + std::string(32, '\0'));
  corpus.add("push_wire", "content_end", as_bytes(last) + as_bytes(end));
  corpus.add("push_wire", "answer", as_bytes(PushHeader{PushType::kAnswer, 0, 0, 1, 0, 28, 0}));
  corpus.add("push_wire", "natives-part",
             as_bytes(PushHeader{PushType::kNativesPart, 0, 8, 1, 0, 0, 0}) +
                 std::string(8 + 32, '\1'));
  corpus.add("push_wire", "address", "[::1]:7117");
  ChangeNotice notice{NoticeKind::kFrames, 7, "n1", "/sim1", {{"f7", {false, 4096, 1, 2}, 3}}};
  notice.frames.push_back({"f8", {.gone = true}, 0});
  std::string body = encode(notice);
  PushHeader head = {PushType::kNotice, 0, static_cast<std::uint32_t>(body.size()), 1, 0, 0, 0};
  corpus.add("push_wire", "notice", body);
  corpus.add("push_wire", "notice-message", as_bytes(head) + body + std::string(32, '\0'));
  const std::string asked = encode(PushRequest{"ZAZ1", "MUNGE:AwQ:"});
  head = {PushType::kRequest, 0, static_cast<std::uint32_t>(asked.size()), 1, 0, 0, 0};
  corpus.add("push_wire", "request", asked);
  corpus.add("push_wire", "request-message", as_bytes(head) + asked + std::string(32, '\0'));
  corpus.add(
      "push_wire", "reply-part",
      as_bytes(PushHeader{PushType::kReplyPart, 0, 8, 1, 0, 0, 0}) + std::string(8 + 32, '\1'));
  corpus.add("push_wire", "reply",
             as_bytes(PushHeader{PushType::kReply, 0, 0, 1, 0, 13, 0}) + std::string(32, '\1'));
}

void add_table(const Corpus& corpus) {
  std::vector<std::uint64_t> words(table_size(2) / sizeof(std::uint64_t) + 1);
  Table& table = *reinterpret_cast<Table*>(words.data());
  table.magic = kTableMagic;
  table.version = kTableVersion;
  table.dataset_count = 2;
  table.file_size = table_size(2);
  table.state = DaemonState::kServing;
  std::strcpy(table.node_name, "n0");
  std::strcpy(table.cache, "/scratch/zazen");
  std::strcpy(table.datasets[0].path, "/sim1");
  std::strcpy(table.datasets[0].frames, "f{seq}");
  std::strcpy(table.datasets[0].also, "*.pdb/.*_offsets.npz");
  std::strcpy(table.datasets[1].path, "/data/run 2");
  table.datasets[1].push = 1;
  std::strcpy(table.datasets[1].frames, "run1/{seq:06}/traj.dcd");
  corpus.add("table", "two-datasets", {reinterpret_cast<char*>(words.data()), table_size(2)});
}

void add_index(const Corpus& corpus) {
  constexpr std::uint32_t kSlotsLog2 = 3;
  std::vector<std::uint64_t> words(index_size(kSlotsLog2) / sizeof(std::uint64_t));
  IdentityIndex& index = *reinterpret_cast<IdentityIndex*>(words.data());
  index.magic = kIndexMagic;
  index.version = kIndexVersion;
  index.slots_log2 = kSlotsLog2;
  index.instance = 5;
  for (std::uint64_t ino : {9, 10, 17}) {
    IndexEntry& entry = index.slots[index.first_slot(ino)];
    entry.local_ino = ino;
    entry.local_ctime_ns = 1'700'000'000'123'456'789;
    entry.ino = ino + 1000;
    entry.mode = S_IFREG | 0644;
    entry.links = 1;
    entry.blocks = 8;
  }
  corpus.add("index", "three-copies",
             as_bytes(std::uint64_t{9}) +
                 std::string(reinterpret_cast<char*>(words.data()), index_size(kSlotsLog2)));
}

Listing small_listing() {
  Listing listing;
  listing.directory = {2, 1'700'000'000'000'000'000, 1'700'000'000'000'000'000};
  listing.taken_at_ns = 1'700'000'009'000'000'000;
  listing.frames = {0, 1, 2, 3, 10, 20, 30, ~FrameSeq{0}};
  listing.inodes = {101, 102, 103, 90, 200, 201, 7, 300};
  listing.others = {{".", 2, DT_DIR}, {"..", 1, DT_DIR}, {"topology.pdb", 99, DT_REG}};
  return listing;
}

void add_view(const Corpus& corpus) {
  Listing listing = small_listing();
  ViewContent content;
  content.rank = 1;
  content.ranks = 4;
  content.nodes = 2;
  content.node_name = "n1";
  ViewDatasetContent dataset;
  dataset.path = "/sim1";
  dataset.frames = "f{seq}";
  dataset.frame_directory_ino = 2;
  dataset.domain = FrameSet(listing.frames).runs();
  dataset.domain_count = listing.frames.size();
  dataset.own_count = 2;
  dataset.own = [](ViewFrames& out) {
    out.add({1, 102});
    out.add({20, 201});
  };
  dataset.names = listing.others;
  content.datasets = {dataset};
  Result<std::string> directory = make_view_directory({"/tmp"});
  demand(directory.ok() && write_view(*directory, content).ok());
  corpus.add("view", "eight-frames", read_file(*directory + "/" + kViewFile));
  remove_view_directory(*directory);
}

void add_frames(const Corpus& corpus) {
  std::string a = FrameSet({0, 4, 8, 12, 100, 101, ~FrameSeq{0}}).encode();
  std::string b = FrameSet({4, 5, 6, 101}).encode();
  corpus.add("frame_set", "two-sets", static_cast<char>(a.size()) + a + b);
  std::string listing = encode_listing(small_listing());
  corpus.add("listing", "eight-frames",
             listing.substr(0, listing.size() - sizeof(std::uint64_t)));
  std::string sets;
  for (int i = 0; i < 96; ++i) sets.push_back(static_cast<char>(i * 37));
  corpus.add("bitmap", "any", sets);
  corpus.add("seqlog", "added-and-damaged", "\x01" + sets);
  corpus.add("seqlog", "nothing", std::string(1, '\0'));

  const char* templates[] = {"f{seq}", "frame-{seq:06}.xtc", "run1/{seq}/traj.dcd",
                             "{seq:020}"};
  const char* names[] = {"f12", "frame-000012.xtc", "run1/12/traj.dcd", "00000000000000000012"};
  for (std::size_t i = 0; i < std::size(templates); ++i) {
    corpus.add("frame_name", "template-" + std::to_string(i),
               templates[i] + std::string("\n12345678\n") + names[i]);
  }
  corpus.add("frame_name", "companions",
             "f{seq}.xtc\t*.pdb/.*_offsets.npz\n12345678\n.f12.xtc_offsets.npz");
}

void add_log(const Corpus& corpus) {
  ScratchDirectory scratch;
  UniqueFd directory(::open(scratch.path().c_str(), O_PATH | O_DIRECTORY));
  Result<SequenceLog> log = SequenceLog::open(directory.get(), "log");
  const FrameSeq added[] = {1, 2, 3, 1000}, forgotten[] = {2};
  demand(log.ok() && log->append(added, forgotten).ok());
  corpus.add("seqlog", "as-it-stands",
             std::string(1, '\0') + read_file(scratch.path() + "/log"));
}

void add_messages(const Corpus& corpus) {
  auto add = [&](char which, const std::string& name, const std::string& bytes) {
    corpus.add("job_messages", name, which + bytes);
  };
  add(0, "introduction", encode_introduction({{true, {}}, "n0", FilterWish::kRequire, true}));
  const NamedDataset datasets[] = {
      {"/sim1", "f{seq}"}, {"/sim2", "{seq}/traj.dcd", FilterMode::kRequire, AuditMode::kWarn}};
  add(1, "datasets", encode_datasets(datasets));
  add(2, "opening",
      encode_opening({{datasets[0], datasets[1]}, {{0, {2, 3, 4}}, {ENOENT, {}}}, {5, 6}}));
  add(3, "listing", encode_listing_answer({0, encode_listing(small_listing())}));
  Fragment fragment;
  fragment.filtered = true;
  fragment.datasets.push_back({"/sim1", true, true, 4, FrameSet({1}), FrameSet({7, 9}), 2,
                               FrameSet({1, 2}), FrameSet()});
  add(4, "fragment", encode_fragment(fragment));
}

// Behind the three bytes that choose the domain: two chunks.
void add_packed_sets(const Corpus& corpus) {
  struct {
    const char* name;
    std::size_t first, stride, count;
  } runs[] = {{"runs", 77, 9000, 2}, {"run", 60'000, 1, 8000}, {"stride", 3, 8, 8000}};
  auto add = [&](const char* name, PackedSetWriter& writer) {
    const PackedSet set = writer.take();
    corpus.add(
        "packed_set", name,
        std::string("\x40\x9c\x01") +
            std::string(reinterpret_cast<const char*>(set.bytes().data()), set.bytes().size()));
  };
  const std::size_t domain = 1 + 0x9c40 + kChunkFrames;
  for (const auto& run : runs) {
    PackedSetWriter writer(domain);
    writer.append_run(run.first, run.stride, run.count);
    add(run.name, writer);
  }
  PackedSetWriter gaps(domain), bitmap(domain);
  for (std::size_t i = 0; i < domain; ++i) {
    if (i * i % 211 < 3) gaps.append(i);
    if (i * i % 7 < 3) bitmap.append(i);
  }
  add("gaps", gaps);
  add("bitmap", bitmap);
}

// Of each ask, and of the reply to each order; and a stream of them.
void add_link(const Corpus& corpus) {
  LinkEnds ends = std::move(*make_link());
  LinkWriter writer(ends.worker_send.get());
  LinkPacket packet;
  auto add = [&](auto message) {
    packet.request = 7;
    packet.body = encode_link_body(message);
    const auto type = static_cast<char>(packet.type);
    corpus.add("link", "body-" + std::to_string(type), type + packet.body);
    demand(writer.send(packet));
  };
  auto add_ask = [&]<class Ask>(Ask*) {
    packet.type = kLinkType<Ask>;
    add(example_link_message<Ask>());
  };
  auto add_reply = [&]<class Order>(Order*) {
    packet.type = kLinkType<Order>;
    packet.is_reply = true;
    add(example_link_message<LinkReply<Order>>());
  };
  [&]<class... Asks>(std::tuple<Asks...>*) {
    (add_ask(static_cast<Asks*>(nullptr)), ...);
  }(static_cast<LinkAsks*>(nullptr));
  [&]<class... Orders>(std::tuple<Orders...>*) {
    (add_reply(static_cast<Orders*>(nullptr)), ...);
  }(static_cast<LinkOrders*>(nullptr));
  std::string stream(1 << 20, '\0');
  const ssize_t size = ::read(ends.receive.get(), stream.data(), stream.size());
  demand(size > 0);
  stream.resize(static_cast<std::size_t>(size));
  corpus.add("link", "stream", std::string("\0\x63", 2) + stream);
  corpus.add("link", "nonsense", std::string("\0\7", 2) + "what no worker writes");
}

// Steps of two workers. A 0 is the first of its table, and a 1 stands for "as usual".
void add_fills(const Corpus& corpus) {
  const auto text = [](std::initializer_list<int> bytes) {
    std::string steps;
    for (int byte : bytes) steps += static_cast<char>(byte);
    return steps;
  };
  const std::string own = text({0}), all = text({3});
  const std::string begin = text({0, 0, 0, 0, 0, 0, 0, 1}), write = text({2, 0, 0, 1});
  const std::string begin_content = text({0, 0, 0, 9, 0, 0, 0, 1});
  const std::string begin_push = text({14, 0, 0, 1});
  const std::string other_waits = text({0, 1, 0, 16, 0, 0, 0, 1});
  const std::string finish = text({5, 0, 0, 1, 1, 1, 1, 1});
  const std::string finish_content = text({7, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1});
  const std::string push = text({8, 0, 0, 1, 1, 0, 0, 0, 0, 1});
  const std::string adopt = text({10, 0, 0, 0, 0, 0, 1, 1, 1});
  const std::string suspend = text({11, 0, 0, 2}), abandon = text({9, 0, 0, 1, 0});
  corpus.add("fills", "fill", own + begin + write + finish);
  corpus.add("fills", "two", own + begin + other_waits + write + abandon);
  corpus.add("fills", "content", own + begin_content + write + finish_content + adopt);
  corpus.add("fills", "push", own + begin_push + write + push + suspend);
  // The dataset's directory, and three of the frame's; everybody may search them.
  const std::string rights = text({12, 0, 0, 1, 1, 0, 1, 1, 7, 0});
  const std::string facts = text({0, 0, 1, 3, 1, 0, 1, 0, 1, 0});
  corpus.add("fills", "all-users", all + rights + begin + facts + write + finish);
}

void add_texts(const Corpus& corpus) {
  const std::string config =
      "node = \"n0\"\ncache = \"/scratch/zazen\"\nruntime = \"/run/zazen\"\n"
      "capacity = \"1.8TB\"\nmax_files = 1000\nkeep_free = \"5GiB\"\npeers = "
      "[\"unix:/run/n1\"]\n"
      "\n[[dataset]]\npath = \"/sim1\"\nframes = \"f{seq}\"\nfilter = true\n"
      "validate = \"sample\"\nfill = \"wait\"\n";
  corpus.add("config", "whole", config);
  corpus.add("config", "least",
             "cache='/c'\nruntime = \"/r\"\n[[dataset]]\npath='/s'\nframes='{seq}'\n");
  corpus.add("runtime_line", "whole", config);
  corpus.add("runtime_line", "blanks", "\xef\xbb\xbf# x\r\n\t runtime\t=\t\"/run/z\" # y\r\n");
  for (const char* size : {"1.8TB", "64 MiB", "4096", "18446744073709551615", "0.5eb"}) {
    corpus.add("units", size, size);
  }
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds DIRECTORY\n", stderr);
    return 2;
  }
  zazen::Corpus corpus(argv[1]);
  zazen::add_packets(corpus);
  zazen::add_pushes(corpus);
  zazen::add_table(corpus);
  zazen::add_index(corpus);
  zazen::add_view(corpus);
  zazen::add_frames(corpus);
  zazen::add_log(corpus);
  zazen::add_messages(corpus);
  zazen::add_packed_sets(corpus);
  zazen::add_link(corpus);
  zazen::add_fills(corpus);
  zazen::add_texts(corpus);
}
