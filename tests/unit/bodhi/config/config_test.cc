#include "bodhi/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

const std::string kTop = "cache = \"/scratch/zazen\"\nruntime = \"/run/zazen\"\n";  // 2 lines
const std::string kDataset = "[[dataset]]\npath = \"/sim1\"\nframes = \"f{seq}\"\n";

Config parsed(const std::string& text) {
  auto config = parse_config(text, "z.toml");
  EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().context);
  return config.ok() ? *config : Config();
}

// The whole complaint, "FILE:LINE: text | hint".
std::string complaint(const std::string& text) {
  auto config = parse_config(text, "z.toml");
  if (config.ok()) return "no complaint";
  EXPECT_EQ(config.error().code, EINVAL);
  return config.error().context + " | " + config.error().hint;
}

// Both phrases are in the complaint about this text.
void expect_complaint(const std::string& text, const std::string& start,
                      const std::string& phrase = "") {
  std::string found = complaint(text);
  EXPECT_EQ(found.substr(0, start.size()), start) << text;
  EXPECT_NE(found.find(phrase), std::string::npos) << found;
}

TEST(Config, ReadsEverything) {
  Config config = parsed(
      "# comment\n"
      "node = \"n0\"\n"
      "cache = \"/scratch//zaz\xc3\xa9n/./x/\"\n"
      "runtime = \"/run/my zazen/\"\n"
      "capacity = \"1.8TB\"\n"
      "max_files = 1000\n"
      "keep_free = 4096\n"
      "sweep = \"off\"\n"
      "peers = [\"unix:/run/a\", \"unix:/run//b/\"]\n"
      "writer_memory = \"64MB\"\n"
      "writer_timeout = \"2s\"\n"
      "spool = \"/var/tmp/\"\n"
      "spool_limit = \"1GB\"\n"
      "[[dataset]]\n"
      "path = \"/sim 1/\"\n"
      "frames = \"frame-{seq:06}.xtc\"\n"
      "filter = false\n"
      "audit = \"warn\"\n"
      "validate = \"always\"\n"
      "fill = \"wait\"\n"
      "push = true\n" +
      kDataset);
  EXPECT_EQ(config.file, "z.toml");
  EXPECT_EQ(config.node, "n0");
  EXPECT_EQ(config.cache, "/scratch/zaz\xc3\xa9n/x");
  EXPECT_EQ(config.runtime, "/run/my zazen");
  EXPECT_EQ(config.capacity_bytes, 1'800'000'000'000u);
  EXPECT_EQ(config.max_files, 1000u);
  EXPECT_EQ(config.keep_free(1'000'000), 4096u);
  EXPECT_EQ(config.sweep_ms, 0u);
  EXPECT_EQ(config.writer_memory_bytes, 64'000'000u);
  EXPECT_EQ(config.writer_timeout_ms, 2'000u);
  EXPECT_EQ(config.spool, "/var/tmp");
  EXPECT_EQ(config.spool_limit_bytes, 1'000'000'000u);
  EXPECT_EQ(config.peers, (std::vector<std::string>{"unix:/run/a", "unix:/run/b"}));
  ASSERT_EQ(config.datasets.size(), 2u);
  const DatasetConfig& first = config.datasets[0];
  EXPECT_EQ(first.path, "/sim 1");
  EXPECT_EQ(first.frames, "frame-{seq:06}.xtc");
  FrameSeq seq;
  EXPECT_TRUE(first.name.match("frame-000007.xtc", 16, &seq));
  EXPECT_EQ(first.filter.get(), FilterMode::kOff);
  EXPECT_EQ(first.audit.get(), AuditMode::kWarn);
  EXPECT_EQ(first.validate, Validate::kAlways);
  EXPECT_EQ(first.fill, Fill::kWait);
  EXPECT_TRUE(first.push);
  EXPECT_EQ(config.dataset_at("/sim1"), &config.datasets[1]);
  EXPECT_EQ(config.dataset_at("/sim"), nullptr);
}

TEST(Config, KeepFreeIsAPartOrASize) {
  auto kept = [](const std::string& value) {
    return parsed(kTop + "keep_free = " + value + "\n" + kDataset).keep_free(2'000'000);
  };
  EXPECT_EQ(kept("\"1%\""), 20'000u);
  EXPECT_EQ(kept("\"100%\""), 2'000'000u);
  EXPECT_EQ(kept("\"3kB\""), 3'000u);
  EXPECT_EQ(kept("0"), 0u);
}

TEST(Config, Defaults) {
  Config config = parsed(kTop + kDataset);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_EQ(config.node, host);
  EXPECT_EQ(config.capacity_bytes, 0u);
  EXPECT_FALSE(config.has_native_share());
  EXPECT_EQ(config.max_files, 0u);
  EXPECT_EQ(config.keep_free(1'000'000), 50'000u);
  EXPECT_EQ(config.sweep_ms, 3'600'000u);
  EXPECT_EQ(config.writer_memory_bytes, 256'000'000u);
  EXPECT_EQ(config.writer_timeout_ms, 5'000u);
  EXPECT_EQ(config.spool, "");
  EXPECT_TRUE(config.peers.empty());
  EXPECT_EQ(config.datasets[0].filter.get(), FilterMode::kOn);
  EXPECT_EQ(config.datasets[0].audit.get(), AuditMode::kFail);
  EXPECT_FALSE(config.datasets[0].push);
  EXPECT_EQ(config.datasets[0].validate, Validate::kSample);
  EXPECT_EQ(config.datasets[0].fill, Fill::kBackground);
  EXPECT_EQ(parsed(kTop + kDataset + "validate = \"never\"\nfill = \"background\"\n")
                .datasets[0]
                .validate,
            Validate::kNever);
}

TEST(Config, FilterIsTrueFalseOrRequire) {
  auto filter = [](const std::string& value) {
    return parsed(kTop + kDataset + "filter = " + value + "\n").datasets[0].filter.get();
  };
  EXPECT_EQ(filter("true"), FilterMode::kOn);
  EXPECT_EQ(filter("false"), FilterMode::kOff);
  EXPECT_EQ(filter("\"require\""), FilterMode::kRequire);
  expect_complaint(kTop + kDataset + "filter = \"required\"\n",
                   "z.toml:6: 'filter' cannot be 'required'", "did you mean '\"require\"'?");
  expect_complaint(kTop + kDataset + "filter = \"flase\"\n",
                   "z.toml:6: 'filter' cannot be 'flase'", "did you mean 'false'?");
  expect_complaint(kTop + kDataset + "filter = 1\n",
                   "z.toml:6: 'filter' must be true, false or \"require\"");
  expect_complaint(kTop + kDataset + "audit = \"wran\"\n", "z.toml:6: 'audit' cannot be 'wran'",
                   "did you mean 'warn'?");
  expect_complaint(kTop + kDataset + "audit = false\n", "z.toml:6: 'audit' must be a string");
}

TEST(Config, UnknownKeysNameTheLikelySpelling) {
  expect_complaint("chace = \"/c\"\n" + kTop + kDataset, "z.toml:1: unknown key 'chace'",
                   "did you mean 'cache'?");
  expect_complaint(kTop + kDataset + "\nframe = \"x\"\n", "z.toml:7: unknown key 'frame'",
                   "did you mean 'frames'?");
  expect_complaint(kTop + "zzzzzz = 1\n" + kDataset, "z.toml:3: unknown key 'zzzzzz'",
                   "known are: node, cache");
  expect_complaint(kTop + "zb = 1\nza = 2\n" + kDataset, "z.toml:3: unknown key 'zb'");
  expect_complaint(kTop + "[datasets]\npath = \"/s\"\n", "z.toml:3: unknown key 'datasets'",
                   "did you mean 'dataset'?");
}

TEST(Config, MissingKeys) {
  expect_complaint("", "z.toml: missing key 'cache'", "cache = \"");
  expect_complaint("cache = \"/c\"\n" + kDataset, "z.toml: missing key 'runtime'");
  expect_complaint(kTop, "z.toml: there is no [[dataset]]");
  expect_complaint(kTop + "\n[[dataset]]\nframes = \"f{seq}\"\n",
                   "z.toml:4: missing key 'path'");
  expect_complaint(kTop + "[[dataset]]\npath = \"/s\"\n", "z.toml:3: missing key 'frames'");
}

TEST(Config, WrongTypes) {
  expect_complaint("cache = 5\nruntime = \"/r\"\n" + kDataset,
                   "z.toml:1: 'cache' must be a string");
  expect_complaint("cache = \"/c\"\nruntime = 5\n" + kDataset,
                   "z.toml:2: 'runtime' must be a string");
  expect_complaint(kTop + "node = true\n" + kDataset, "z.toml:3: 'node' must be a string");
  expect_complaint(kTop + "max_files = \"5\"\n" + kDataset, "z.toml:3: 'max_files' must be");
  expect_complaint(kTop + "max_files = -5\n" + kDataset, "z.toml:3: 'max_files' must be");
  expect_complaint(kTop + "max_files = 1.5\n" + kDataset, "z.toml:3: 'max_files' must be");
  expect_complaint(kTop + "capacity = 1.5\n" + kDataset, "z.toml:3: 'capacity' must be a size");
  expect_complaint(kTop + "capacity = -1\n" + kDataset, "z.toml:3: 'capacity' must be a size");
  for (const char* share : {"\"0%\"", "\"101%\"", "\"x%\"", "\"5 %\"", "\"%\""}) {
    expect_complaint(kTop + "native_share = " + share + "\n" + kDataset,
                     "z.toml:3: 'native_share' must be 1% to 100%, or a size");
  }
  expect_complaint(kTop + "native_share = 0\n" + kDataset,
                   "z.toml:3: 'native_share' must be more than 0");
  expect_complaint(kTop + "capacity = \"1.8XB\"\n" + kDataset, "z.toml:3: 'capacity': '1.8XB'",
                   "1.8TB");
  expect_complaint(kTop + "keep_free = \"a lot\"\n" + kDataset, "z.toml:3: 'keep_free':");
  for (const char* wrong : {"0%", "101%", "x%", "5 %", "-5%", "5%%", "%"}) {
    expect_complaint(kTop + "keep_free = \"" + wrong + "\"\n" + kDataset,
                     "z.toml:3: 'keep_free' must be 1% to 100%, or a size");
  }
  expect_complaint(kTop + "sweep = \"often\"\n" + kDataset, "z.toml:3: 'sweep': 'often'", "1h");
  expect_complaint(kTop + "spool_limit = \"1GB\"\n" + kDataset,
                   "z.toml:3: 'spool_limit' without");
  expect_complaint(kTop + "spool = \"tmp\"\n" + kDataset, "z.toml:3: 'spool' must be an abs");
  expect_complaint(kTop + "writer_timeout = \"off\"\n" + kDataset,
                   "z.toml:3: 'writer_timeout' m");
  expect_complaint(kTop + "writer_memory = \"much\"\n" + kDataset,
                   "z.toml:3: 'writer_memory':");
  expect_complaint(kTop + "sweep = 60\n" + kDataset, "z.toml:3: 'sweep' must be a time", "off");
  expect_complaint(kTop + "sweep = \"10ms\"\n" + kDataset, "z.toml:3: 'sweep' must be one");
  expect_complaint(kTop + "peers = \"unix:/a\"\n" + kDataset,
                   "z.toml:3: 'peers' must be an array");
  expect_complaint(kTop + "peers = [5]\n" + kDataset, "z.toml:3: 'peers' must be a string");
  expect_complaint(kTop + "[dataset]\npath = \"/s\"\n",
                   "z.toml:3: a dataset is written [[dataset]]");
  expect_complaint(kTop + "dataset = [1]\n", "z.toml:3: a dataset is written [[dataset]]");
}

TEST(Config, Choices) {
  expect_complaint(kTop + kDataset + "validate = \"allways\"\n",
                   "z.toml:6: 'validate' cannot be 'allways'", "did you mean 'always'?");
  expect_complaint(kTop + kDataset + "fill = \"quickly\"\n",
                   "z.toml:6: 'fill' cannot be 'quickly'", "known are: background, wait");
  expect_complaint(kTop + kDataset + "fill = true\n", "z.toml:6: 'fill' must be a string");
}

TEST(Config, TemplatesAreChecked) {
  std::string start = kTop + "[[dataset]]\npath = \"/s\"\n";
  expect_complaint(start + "frames = \"f\"\n",
                   "z.toml:5: 'f' is not a frame name: it has no {seq}", "f{seq}");
  expect_complaint(start + "frames = \"{seq}{seq}\"\n", "z.toml:5:", "more than one {seq}");
  expect_complaint(start + "frames = \"../f{seq}\"\n", "z.toml:5:", "'..'");
  expect_complaint(start + "frames = 5\n", "z.toml:5: 'frames' must be a string");
}

TEST(Config, OtherFilesThatAreCached) {
  const std::string start = kTop + "[[dataset]]\npath = \"/sim1\"\nframes = \"f{seq}\"\n";
  const Config config = parsed(start + "also = [\"*.pdb\", \".*_offsets.npz\"]\n");
  EXPECT_EQ(config.datasets[0].also, "*.pdb/.*_offsets.npz");
  EXPECT_EQ(config.datasets[0].also_patterns(),
            (std::vector<std::string>{"*.pdb", ".*_offsets.npz"}));
  FrameSeq seq = 0;
  EXPECT_TRUE(config.datasets[0].name.match("top.pdb", 7, &seq));
  EXPECT_TRUE(config.datasets[0].name.is_companion(seq));
  EXPECT_TRUE(parsed(start).datasets[0].also_patterns().empty());
  expect_complaint(start + "also = \"*.pdb\"\n",
                   "z.toml:6: 'also' must be an array of strings");
  expect_complaint(start + "also = [\"x/y\"]\n", "z.toml:6: also: 'x/y' has a '/' in it");
  expect_complaint(start + "also = [\"\"]\n", "z.toml:6: also: '': it is empty");
  expect_complaint(start + "also = [\"x*\"]\n",
                   "z.toml:6: also: 'x*': a pattern ends with '*'");
  expect_complaint(start + "also = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\n",
                   "z.toml:6: also: 'f': there are more than 5 patterns");
}

TEST(Config, NodeNames) {
  EXPECT_EQ(parsed("node = \"" + std::string(63, 'n') + "\"\n" + kTop + kDataset).node.size(),
            63u);
  expect_complaint("node = \"" + std::string(64, 'n') + "\"\n" + kTop + kDataset,
                   "z.toml:1: 'node' is longer than 63");
  expect_complaint("node = \"a\\tb\"\n" + kTop + kDataset, "z.toml:1: 'node' has a control");
  expect_complaint("node = \"\"\n" + kTop + kDataset, "z.toml:1: 'node' is empty");
}

TEST(Config, PeersAndPorts) {
  Config config = parsed(kTop +
                         "listen = \"0.0.0.0:7117\"\nkey_file = \"/etc/zazen//key\"\n"
                         "peers = [\"unix:/run/a\", \"n0:7117\", \"[::1]:7117\"]\n"
                         "known_as = [\"gate:7117\", \"[::1]:9\"]\nkey_grace = \"10min\"\n"
                         "max_frame = \"2GB\"\nmax_connections = 7\nmax_rate = \"1MB\"\n" +
                         kDataset);
  EXPECT_EQ(config.known_as, (std::vector<std::string>{"gate:7117", "[::1]:9"}));
  EXPECT_EQ(config.listen, "0.0.0.0:7117");
  EXPECT_EQ(config.key_file, "/etc/zazen/key");
  EXPECT_EQ(config.peers, (std::vector<std::string>{"unix:/run/a", "n0:7117", "[::1]:7117"}));
  EXPECT_EQ(config.key_grace_ms, 600'000u);
  EXPECT_EQ(config.max_frame_bytes, 2'000'000'000u);
  EXPECT_EQ(config.max_connections, 7u);
  EXPECT_EQ(config.max_rate_bytes, 1'000'000u);
  Config plain = parsed(kTop + kDataset);
  EXPECT_EQ(plain.listen + plain.key_file, "");
  EXPECT_EQ(plain.key_grace_ms, 3'600'000u);
  EXPECT_EQ(parsed("key_grace = \"off\"\n" + kTop + kDataset).key_grace_ms, 0u);
  EXPECT_GT(plain.max_frame_bytes, 1u << 30);
  EXPECT_GT(plain.max_connections, 0u);

  expect_complaint(kTop + "listen = \"7117\"\n" + kDataset, "z.toml:3: listen", "HOST:PORT");
  expect_complaint(kTop + "known_as = [\"gate\"]\n" + kDataset, "z.toml:3: known_as", "HOST");
  expect_complaint(kTop + "known_as = \"gate:1\"\n" + kDataset,
                   "z.toml:3: 'known_as' must be an array");
  for (const char* other :
       {"0.0.0.0:7118", "[::]:7118", "192.0.2.1:7118", "n0:7118", "127.0.0.1"}) {
    expect_complaint(kTop + "metrics = \"" + other + "\"\n" + kDataset,
                     std::string("z.toml:3: metrics '") + other + "' is not a loopback address",
                     "127.0.0.1:7118");
  }
  EXPECT_EQ(parsed(kTop + "metrics = \"[::1]:7118\"\n" + kDataset).metrics, "[::1]:7118");
  expect_complaint(kTop + "listen = 7117\n" + kDataset, "z.toml:3: 'listen' must be a str");
  expect_complaint(kTop + "key_file = \"key\"\n" + kDataset, "z.toml:3: 'key_file' must be an");
  expect_complaint(kTop + "peers = [\n \"unix:/a\",\n \"n0\"]\n" + kDataset,
                   "z.toml:5:", "HOST:PORT");
  expect_complaint(kTop + "peers = [\"unix:a\"]\n" + kDataset,
                   "z.toml:3: 'peers' must be an abs");
}

TEST(Config, TheShimMustFindTheRuntimeLine) {
  expect_complaint("cache = \"/c\"\nruntime = '/r'\n" + kDataset,
                   "z.toml:2: 'runtime' must be the plain");
  expect_complaint("cache = \"/c\"\nruntime = \"/r\\u0041\"\n" + kDataset,
                   "z.toml:2: 'runtime' must be");
  expect_complaint("cache = \"/c\"\n\"runtime\" = \"/r\"\n" + kDataset,
                   "z.toml:2: 'runtime' must be");
  // A line in a multi-line string that the scan would take for it.
  expect_complaint(
      "cache = \"\"\"/c\\\nruntime = \"/x\"\n\"\"\"\nruntime = \"/r\"\n" + kDataset, "z.toml:");
  std::string far = "#" + std::string(70'000, '-') + "\n";
  expect_complaint("cache = \"/c\"\n" + far + "runtime = \"/r\"\n" + kDataset,
                   "z.toml:3: 'runtime' must be");
}

TEST(Config, SyntaxErrorsNameTheLine) {
  expect_complaint(kTop + "node = \n" + kDataset, "z.toml:3:");
  expect_complaint(kTop + "cache = \"/twice\"\n" + kDataset, "z.toml:3:");
  expect_complaint(kTop + "node = \"\xff\"\n" + kDataset, "z.toml:");
}

TEST(Config, Files) {
  Scratch scratch;
  auto missing = load_config(scratch / "none.toml");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_NE(missing.error().context.find("none.toml: cannot be read: No such file"),
            std::string::npos);
  EXPECT_EQ(load_config(scratch.path()).error().code, EISDIR);
  write_file(scratch / "z.toml", kTop + kDataset);
  auto config = load_config(scratch / "z.toml");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->file, scratch / "z.toml");
  write_file(scratch / "empty.toml", "");
  EXPECT_NE(load_config(scratch / "empty.toml").error().context.find("missing key 'cache'"),
            std::string::npos);
}

TEST(Config, WhereItIsLookedFor) {
  Scratch scratch;
  ::unsetenv("ZAZEN_CONFIG");
  ::setenv("HOME", scratch.path().c_str(), 1);
  EXPECT_EQ(find_config("/given").value(), "/given");
  if (::access("/etc/zazen/zazen.toml", F_OK) != 0) {
    auto nothing = find_config(std::nullopt);
    ASSERT_FALSE(nothing.ok());
    EXPECT_EQ(nothing.error().code, ENOENT);
    EXPECT_NE(nothing.error().hint.find("--config"), std::string::npos);
  }
  std::filesystem::create_directories(scratch / ".config/zazen");
  std::string own = scratch / ".config/zazen/zazen.toml";
  write_file(own, "");
  EXPECT_EQ(find_config(std::nullopt).value(), own);
  ::setenv("ZAZEN_CONFIG", "", 1);
  EXPECT_EQ(find_config(std::nullopt).value(), own);
  ::setenv("ZAZEN_CONFIG", "/from/environment", 1);
  EXPECT_EQ(find_config(std::nullopt).value(), "/from/environment");
  EXPECT_EQ(find_config("/given").value(), "/given");
  ::unsetenv("ZAZEN_CONFIG");
}

TEST(Config, ClosestSpelling) {
  std::vector<std::string> known = {"cache", "capacity", "node", "peers"};
  EXPECT_EQ(closest_spelling("chace", known), "cache");
  EXPECT_EQ(closest_spelling("capcity", known), "capacity");
  EXPECT_EQ(closest_spelling("nodes", known), "node");
  EXPECT_EQ(closest_spelling("Node", known), "node");
  EXPECT_EQ(closest_spelling("elephant", known), "");
  EXPECT_EQ(closest_spelling("", known), "");
  EXPECT_EQ(closest_spelling(std::string(10'000, 'x'), known), "");
}

}  // namespace
}  // namespace zazen
