// Reading the configuration: first every key is known and of the right type, then each value
// is sound, then the paths agree with each other. The first complaint ends it. The only file
// that includes toml++.
#include "bodhi/config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "bodhi/runtime_line.h"
#include "bodhi/units.h"

namespace zazen {
namespace {

const std::vector<std::string> kTopLevelKeys = {"node",      "cache",     "runtime", "capacity",
                                                "max_files", "keep_free", "peers",   "listen",
                                                "dataset",   "users"};
const std::vector<std::string> kDatasetKeys = {"path", "frames", "filter", "validate", "fill"};
constexpr char kLater[] = "is not in this version";

// A complaint about a line of the file; 0: about the file as a whole.
struct Complaint {
  std::uint32_t line;
  std::string text;
  std::string hint;
};

// Thrown inside this file only: the checks read as a list of demands.
[[noreturn]] void complain(std::uint32_t line, std::string text, std::string hint = {}) {
  throw Complaint{line, std::move(text), std::move(hint)};
}

std::uint32_t line_of(const toml::node& node) {
  return static_cast<std::uint32_t>(node.source().begin.line);
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  std::string likely = closest_spelling(word, known);
  if (!likely.empty()) return fmt::format("did you mean '{}'?", likely);
  return fmt::format("known are: {}", fmt::join(known, ", "));
}

void require_known_keys(const toml::table& table, const std::vector<std::string>& known) {
  const toml::key* first = nullptr;
  for (const auto& [key, value] : table) {
    bool is_known = std::find(known.begin(), known.end(), key.str()) != known.end();
    if (is_known) continue;
    if (!first || key.source().begin.line < first->source().begin.line) first = &key;
  }
  if (!first) return;
  std::string word(first->str());
  complain(static_cast<std::uint32_t>(first->source().begin.line),
           fmt::format("unknown key '{}'", word), did_you_mean(word, known));
}

std::string text_of(const toml::node& node, const char* key) {
  const auto* text = node.as_string();
  if (!text) complain(line_of(node), fmt::format("'{}' must be a string", key));
  return text->get();
}

std::string require_text(const toml::table& table, const char* key, const char* example) {
  const toml::node* node = table.get(key);
  if (!node) {
    bool is_top_level = std::string_view(key) == "cache" || std::string_view(key) == "runtime";
    complain(is_top_level ? 0 : line_of(table), fmt::format("missing key '{}'", key),
             fmt::format("for example: {} = \"{}\"", key, example));
  }
  return text_of(*node, key);
}

// Absolute and lexically normal, or a complaint.
std::string normal_path(const std::string& text, const char* key, std::uint32_t line) {
  if (text.find('\0') != text.npos) complain(line, fmt::format("'{}' has a NUL in it", key));
  if (text.empty() || text[0] != '/') {
    complain(line, fmt::format("'{}' must be an absolute path, not '{}'", key, text));
  }
  std::string normal;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part.empty() || part == ".") continue;
    if (part == "..") complain(line, fmt::format("'{}' must not contain '..'", key));
    normal += "/" + part;
  }
  if (normal.empty()) complain(line, fmt::format("'{}' must not be the root directory", key));
  if (normal.size() >= kMaxPath) {
    complain(line, fmt::format("'{}' is longer than {} bytes", key, kMaxPath - 1));
  }
  return normal;
}

std::uint64_t size_of(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (!node) return 0;
  if (const auto* number = node->as_integer(); number && number->get() >= 0) {
    return static_cast<std::uint64_t>(number->get());
  }
  const auto* text = node->as_string();
  const char* hint = "write it as \"1.8TB\", \"64MiB\" or 4096";
  if (!text) complain(line_of(*node), fmt::format("'{}' must be a size", key), hint);
  auto size = parse_size(text->get());
  if (!size) {
    complain(line_of(*node), fmt::format("'{}': {}", key, size.error().context), hint);
  }
  return *size;
}

std::uint64_t count_of(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (!node) return 0;
  const auto* number = node->as_integer();
  if (!number || number->get() < 0) {
    complain(line_of(*node), fmt::format("'{}' must be a whole number, 0 or more", key));
  }
  return static_cast<std::uint64_t>(number->get());
}

template <class Enum>
Enum choice_of(const toml::table& table, const char* key,
               const std::vector<std::pair<std::string, Enum>>& choices) {
  const toml::node* node = table.get(key);
  if (!node) return choices.front().second;
  std::string word = text_of(*node, key);
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known.push_back(name);
  }
  complain(line_of(*node), fmt::format("'{}' cannot be '{}'", key, word),
           did_you_mean(word, known));
}

std::string node_name_of(const toml::table& table) {
  const toml::node* node = table.get("node");
  std::string name;
  if (node) {
    name = text_of(*node, "node");
  } else {
    char host[HOST_NAME_MAX + 1] = {};
    ::gethostname(host, sizeof host - 1);
    name = host;
  }
  std::uint32_t line = node ? line_of(*node) : 0;
  if (name.empty()) complain(line, "'node' is empty");
  if (name.size() >= kMaxNodeName) {
    complain(line, fmt::format("'node' is longer than {} bytes", kMaxNodeName - 1));
  }
  auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) {
    complain(line, "'node' has a control character in it");
  }
  return name;
}

std::string runtime_of(const toml::table& table, const std::string& text) {
  std::string value = require_text(table, "runtime", "/run/zazen");
  std::uint32_t line = line_of(*table.get("runtime"));
  std::string normal = normal_path(value, "runtime", line);
  char scanned[kMaxPath];
  std::size_t length = scan_runtime_line(text.data(), std::min(text.size(), kRuntimeScanBytes),
                                         scanned, sizeof scanned);
  if (std::string_view(scanned, length) != value) {
    complain(
        line, "'runtime' must be the plain line  runtime = \"DIR\"  near the file's top",
        "before any [table], in double quotes, no escapes; nothing that looks like it above");
  }
  return normal;
}

std::vector<std::string> peers_of(const toml::table& table) {
  std::vector<std::string> peers;
  const toml::node* node = table.get("peers");
  if (!node) return peers;
  const toml::array* array = node->as_array();
  if (!array) complain(line_of(*node), "'peers' must be an array of strings");
  constexpr std::string_view kScheme = "unix:";
  for (const toml::node& item : *array) {
    std::string peer = text_of(item, "peers");
    if (peer.compare(0, kScheme.size(), kScheme) != 0) {
      complain(line_of(item),
               fmt::format("peer '{}': a peer over the network {}", peer, kLater),
               "name a daemon of this machine by its runtime directory: \"unix:/run/zazen\"");
    }
    std::string directory = peer.substr(kScheme.size());
    peers.push_back(std::string(kScheme) + normal_path(directory, "peers", line_of(item)));
  }
  return peers;
}

DatasetConfig dataset_of(const toml::table& table) {
  require_known_keys(table, kDatasetKeys);
  DatasetConfig dataset;
  std::string path = require_text(table, "path", "/sim1");
  dataset.path = normal_path(path, "path", line_of(*table.get("path")));
  dataset.frames = require_text(table, "frames", "f{seq}");
  const char* why = "";
  if (!FrameName::parse(dataset.frames.data(), dataset.frames.size(), &dataset.name, &why)) {
    complain(line_of(*table.get("frames")),
             fmt::format("'{}' is not a frame name: {}", dataset.frames, why),
             "for example: frames = \"f{seq}\" or \"frame-{seq:06}.xtc\"");
  }
  if (const toml::node* filter = table.get("filter")) {
    if (!filter->is_boolean()) complain(line_of(*filter), "'filter' must be true or false");
    dataset.filter = filter->as_boolean()->get();
  }
  dataset.validate = choice_of<Validate>(table, "validate",
                                         {{"sample", Validate::kSample},
                                          {"always", Validate::kAlways},
                                          {"never", Validate::kNever}});
  dataset.fill = choice_of<Fill>(table, "fill",
                                 {{"background", Fill::kBackground}, {"wait", Fill::kWait}});
  return dataset;
}

// A directory of the configuration, by its path as written and by where that leads.
struct Place {
  std::string path;
  std::string resolved;  // links followed, as far as it exists

  explicit Place(const std::string& normal) : path(normal), resolved(normal) {
    std::error_code error;
    auto real = std::filesystem::weakly_canonical(normal, error);
    if (!error) resolved = real.string();
  }
};

// By components: "/sim10" is not inside "/sim1".
bool is_inside(const std::string& inner, const std::string& outer) {
  return inner.size() >= outer.size() && inner.compare(0, outer.size(), outer) == 0 &&
         (inner.size() == outer.size() || inner[outer.size()] == '/');
}

bool is_inside(const Place& inner, const Place& outer) {
  return is_inside(inner.path, outer.path) || is_inside(inner.resolved, outer.resolved);
}

void require_apart(const Place& dataset, const std::vector<Place>& others, std::uint32_t line) {
  for (const Place& other : others) {
    bool is_inner = is_inside(dataset, other);
    bool is_outer = is_inside(other, dataset);
    if (is_inner && is_outer) {
      complain(line, fmt::format("dataset '{}' is the same as '{}'", dataset.path, other.path));
    }
    if (is_inner || is_outer) {
      complain(line,
               fmt::format("dataset '{}' is inside dataset '{}'",
                           is_inner ? dataset.path : other.path,
                           is_inner ? other.path : dataset.path),
               "one dataset with a template such as \"run1/f{seq}\" may do");
    }
  }
}

void require_apart(const Place& dataset, const Place& cache, const Place& runtime,
                   std::uint32_t line) {
  if (is_inside(cache, dataset)) {
    complain(line,
             fmt::format("the cache '{}' is inside dataset '{}'", cache.path, dataset.path));
  }
  if (is_inside(runtime, dataset)) {
    complain(line, fmt::format("the runtime directory '{}' is inside dataset '{}'",
                               runtime.path, dataset.path));
  }
  if (is_inside(dataset.path, std::string("/") + kDatasetStateDirectory)) {
    complain(line,
             fmt::format("dataset '{}' would lie in the cache's own directory", dataset.path));
  }
  if (is_inside(dataset, cache)) {
    complain(line,
             fmt::format("dataset '{}' is inside the cache '{}'", dataset.path, cache.path));
  }
}

void read_datasets(const toml::table& table, Config* config) {
  const toml::node* node = table.get("dataset");
  if (!node) {
    complain(0, "there is no [[dataset]]",
             "add one: [[dataset]], path = \"/sim1\", frames = \"f{seq}\"");
  }
  const toml::array* array = node->as_array();
  if (!array || !std::all_of(array->begin(), array->end(),
                             [](const toml::node& item) { return item.is_table(); })) {
    complain(line_of(*node), "a dataset is written [[dataset]], with two brackets");
  }
  const Place cache(config->cache), runtime(config->runtime);
  std::vector<Place> places;
  for (const toml::node& item : *array) {
    if (config->datasets.size() == kMaxDatasets) {
      complain(line_of(item), fmt::format("more than {} datasets", kMaxDatasets));
    }
    DatasetConfig dataset = dataset_of(*item.as_table());
    Place place(dataset.path);
    require_apart(place, places, line_of(item));
    require_apart(place, cache, runtime, line_of(item));
    places.push_back(std::move(place));
    config->datasets.push_back(std::move(dataset));
  }
}

Config read_table(const toml::table& table, const std::string& text, const std::string& file) {
  require_known_keys(table, kTopLevelKeys);
  Config config;
  config.file = file;
  config.node = node_name_of(table);
  std::string cache = require_text(table, "cache", "/scratch/zazen");
  config.cache = normal_path(cache, "cache", line_of(*table.get("cache")));
  config.runtime = runtime_of(table, text);
  config.capacity_bytes = size_of(table, "capacity");
  config.max_files = count_of(table, "max_files");
  config.keep_free_bytes = size_of(table, "keep_free");
  if (const toml::node* listen = table.get("listen")) {
    complain(line_of(*listen), fmt::format("'listen' {}", kLater),
             "pushes go through the unix sockets of this machine: peers = [\"unix:DIR\"]");
  }
  config.peers = peers_of(table);
  config.all_users = choice_of<bool>(table, "users", {{"own", false}, {"all", true}});
  read_datasets(table, &config);
  return config;
}

// Edits to turn one word into the other; two neighbours swapped are one edit.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                             std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      std::size_t change = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

const DatasetConfig* Config::dataset_at(const std::string& path) const {
  auto found = std::find_if(datasets.begin(), datasets.end(),
                            [&](const DatasetConfig& dataset) { return dataset.path == path; });
  return found == datasets.end() ? nullptr : &*found;
}

std::string closest_spelling(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance =
      word.size() < 4 ? 2 : std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

Result<Config> parse_config(const std::string& text, const std::string& file) {
  toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Error{EINVAL,
                 fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()),
                 {}};
  }
  try {
    return read_table(parsed.table(), text, file);
  } catch (const Complaint& complaint) {
    std::string where = complaint.line > 0 ? fmt::format("{}:{}", file, complaint.line) : file;
    return Error{EINVAL, where + ": " + complaint.text, complaint.hint};
  }
}

Result<Config> load_config(const std::string& file) {
  struct stat st;
  if (::stat(file.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
    return Error{EISDIR, file + ": is a directory, not a configuration file", {}};
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream.is_open() || stream.bad()) {
    int code = errno != 0 ? errno : EIO;
    return Error{code, fmt::format("{}: cannot be read: {}", file, std::strerror(code)), {}};
  }
  return parse_config(text, file);
}

Result<std::string> find_config(const std::optional<std::string>& command_line) {
  if (command_line) return *command_line;
  const char* variable = ::secure_getenv("ZAZEN_CONFIG");
  if (variable && *variable) return std::string(variable);
  std::vector<std::string> places;
  const char* home = ::secure_getenv("HOME");
  if (home && *home) places.push_back(std::string(home) + "/.config/zazen/zazen.toml");
  places.push_back("/etc/zazen/zazen.toml");
  for (const std::string& place : places) {
    if (::access(place.c_str(), F_OK) == 0) return place;
  }
  return Error{ENOENT,
               fmt::format("no configuration: not found at {}", fmt::join(places, ", ")),
               "name one with --config FILE or ZAZEN_CONFIG"};
}

}  // namespace zazen
