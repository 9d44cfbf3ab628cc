// zazenctl init: examines a directory of frames and writes a configuration that works, or adds
// the directory to the existing one.
//
// A file that zazend would not accept is left alone, and so are all lines of one that it
// accepts: a dataset is appended. The new text is parsed as zazend does before it is written,
// and replaces the old one by a rename.
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bodhi/common/unique_fd.h"
#include "bodhi/common/units.h"
#include "bodhi/config/cache_place.h"
#include "bodhi/config/template_check.h"
#include "tools/commands/commands.h"
#include "tools/commands/new_places.h"
#include "tools/support/output.h"
#include "tools/support/table_state.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::size_t kMostOthersNamed = 5;

int fail(const Error& error, int exit_status = kFailed) {
  print_error(error.context, error.hint);
  return exit_status;
}

// The directory, and those of its files that are frames.
struct Found {
  std::string path;
  std::string frames;
  std::size_t names = 0, matches = 0;
  bool is_whole = true;
  std::vector<std::string> also;    // patterns of those that are worth a copy
  std::vector<std::string> others;  // some of the other files
};

// Files that analysis programs open with each frame, and that seldom change.
constexpr const char* kRead[] = {".pdb", ".gro",   ".psf", ".prmtop", ".parm7", ".tpr",
                                 ".top", ".topol", ".ndx", ".mol2",   ".cif",   ".rst7"};
// MDAnalysis keeps a file of this name for each of these.
constexpr const char* kHaveOffsets[] = {".xtc", ".trr"};
constexpr char kOffsets[] = ".*_offsets.npz";

// The pattern by which a file would be cached; "" if it should not be.
std::string pattern_for(const std::string& name, const FrameName& frames) {
  const std::string file = name.substr(name.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  if (dot == file.npos || dot == 0 || std::ranges::count(kRead, file.substr(dot)) == 0)
    return "";
  for (const std::string& pattern : {"*" + file.substr(dot), file}) {
    FrameName names = frames;
    const char* why = "";
    FrameSeq seq;
    if (names.add_also(pattern.data(), pattern.size(), &why) &&
        names.match(name.data(), name.size(), &seq)) {
      return pattern;
    }
  }
  return "";
}

void add_pattern(const std::string& pattern, Found* found) {
  if (std::ranges::count(found->also, pattern) != 0) return;
  if (found->also.size() < CompanionPatterns::kMost) found->also.push_back(pattern);
}

Result<Found> look_at(const InitOptions& options) {
  Found found;
  found.path = std::filesystem::absolute(options.directory).lexically_normal();
  while (found.path.size() > 1 && found.path.ends_with('/')) found.path.pop_back();
  Result<DirectoryNames> names = examine_directory(found.path);
  if (!names) {
    return Error{names.error().code, names.error().message(),
                 "name the directory of the frames at the shared file system"};
  }
  found.names = names->names.size();
  found.is_whole = names->is_whole;
  found.frames = options.frames.empty() ? names->guess.frames : options.frames;
  if (found.frames.empty()) {
    return Error{
        ENOENT,
        found.path + (found.names == 0 ? ": no files there"
                                       : ": no file name has a number, as frames have"),
        "name the frames yourself, if they are still to come: --frames \"f{seq}\""};
  }
  FrameName compiled;
  const char* why = "";
  if (!FrameName::parse(found.frames.data(), found.frames.size(), &compiled, &why)) {
    return Error{EINVAL, fmt::format("--frames {}: not a frame name: {}", found.frames, why),
                 "for example: --frames \"frame-{seq:06}.xtc\""};
  }
  std::ranges::sort(names->names);
  const bool has_offsets = std::ranges::any_of(
      kHaveOffsets, [&](const char* end) { return found.frames.ends_with(end); });
  if (has_offsets && !compiled.entry_is_directory()) add_pattern(kOffsets, &found);
  for (const std::string& name : names->names) {
    FrameSeq seq;
    if (compiled.match(name.data(), name.size(), &seq)) {
      ++found.matches;
    } else if (const std::string pattern = pattern_for(name, compiled); !pattern.empty()) {
      add_pattern(pattern, &found);
    } else if (found.others.size() <= kMostOthersNamed) {
      found.others.push_back(name);
    }
  }
  return found;
}

std::string part_in_words(const Found& found) {
  return fmt::format("{} of {}{} files", format_count(found.matches),
                     found.is_whole ? "" : "the first ", format_count(found.names));
}

// A TOML string. Bytes that are no UTF-8 are refused when the text is parsed.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string dataset_text(const Found& found) {
  std::string text =
      fmt::format("[[dataset]]\npath   = {}\nframes = {}  # {}\n", quoted(found.path),
                  quoted(found.frames), part_in_words(found));
  if (found.also.empty()) {
    text += "# also = [\"*.pdb\"]   # other files that are cached\n";
  } else {
    std::vector<std::string> patterns;
    for (const std::string& pattern : found.also) patterns.push_back(quoted(pattern));
    text += fmt::format("also   = [{}]  # other files that are cached\n",
                        fmt::join(patterns, ", "));
  }
  if (!found.others.empty()) {
    const bool has_more = found.others.size() > kMostOthersNamed;
    std::vector<std::string> shown = found.others;
    if (has_more) shown.pop_back();
    text += fmt::format("# Not cached: {}{}\n",
                        printable(fmt::format("{}", fmt::join(shown, ", "))),
                        has_more ? ", ..." : "");
  }
  return text +
         "# filter = false    # every MPI rank sees all frames; by default the ranks divide "
         "them\n";
}

std::string node_text(const NewPlaces& places) {
  return fmt::format(
      "# The configuration of this node for Zazen, by zazenctl init. All keys: zazen.toml(5).\n"
      "# zazend reads it when it starts, and at zazenctl reload.\n\n"
      "cache   = {}  # on a local disk{}\n"
      "runtime = {}  # the daemon's socket\n"
      "# capacity  = \"500GB\"  # the most that the copies may take\n"
      "# keep_free = \"5%\"     # what stays free on the disk\n{}\n",
      quoted(places.cache),
      places.cache.starts_with("/var/tmp/")
          ? "; systemd removes what nobody has used for 30 days"
          : "",
      quoted(places.runtime),
      ::geteuid() == 0 ? "# users     = \"all\"    # serve every user of this node\n" : "");
}

// The path of the configuration: of the option, else where zazend and zazenctl look by default.
// There need not be a file.
Result<std::string> file_of(const std::optional<std::string>& config) {
  const char* variable = ::secure_getenv("ZAZEN_CONFIG");
  if (config) return std::filesystem::absolute(*config).string();
  if (variable != nullptr && *variable != '\0')
    return std::filesystem::absolute(variable).string();
  const char* home = ::secure_getenv("HOME");
  const bool has_home = home != nullptr && *home != '\0';
  const std::string own = has_home ? std::string(home) + "/.config/zazen/zazen.toml" : "";
  if (::geteuid() == 0 && (!has_home || ::access(own.c_str(), F_OK) != 0)) {
    return std::string("/etc/zazen/zazen.toml");
  }
  if (has_home) return own;
  return Error{ENOENT, "there is no HOME to write ~/.config/zazen/zazen.toml to",
               "name the file: --config FILE"};
}

// Replaces the old file at once, with its mode and owner.
Status write_text(const std::string& named, const std::string& text) {
  std::error_code error;
  const std::string file = std::filesystem::weakly_canonical(named, error);
  if (error) return Error{error.value(), named, {}};
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  struct stat old = {};
  const bool is_there = ::stat(file.c_str(), &old) == 0;
  const mode_t mode = is_there ? old.st_mode & 0777 : ::geteuid() == 0 ? 0644 : 0600;
  const std::string fresh = fmt::format("{}.{}.new", file, ::getpid());
  const UniqueFd fd(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return last_error(file);
  const bool has_owner = !is_there ||
                         (old.st_uid == ::geteuid() && old.st_gid == ::getegid()) ||
                         ::fchown(fd.get(), old.st_uid, old.st_gid) == 0;
  if (!has_owner || ::fchmod(fd.get(), mode) != 0 ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(fd.get()) != 0 || ::rename(fresh.c_str(), file.c_str()) != 0) {
    const Error failed = last_error(file);
    ::unlink(fresh.c_str());
    return failed;
  }
  return Done{};
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void warn_of(const Found& found, const Config& config) {
  if (found.matches == 0) {
    print_warning(fmt::format("{}: 0 of {} names match {}", found.path,
                              format_count(found.names), found.frames));
  } else if (found.matches == 1) {
    print_warning("one frame only: which number of its name varies is a guess",
                  "correct frames = ... in the file if it is another one");
  }
  if (const std::string why = describe_poor_place(config.cache); !why.empty()) {
    print_warning("cache " + config.cache + ": " + why, kPoorPlaceHint);
  }
  struct stat origin = {}, cache = {};
  std::filesystem::path there = config.cache;
  while (!std::filesystem::exists(there)) there = there.parent_path();
  if (::stat(found.path.c_str(), &origin) == 0 && ::stat(there.c_str(), &cache) == 0 &&
      origin.st_dev == cache.st_dev) {
    print_warning("the frames are on the cache's own disk: copies of them bring nothing",
                  "Zazen is for frames on a shared file system");
  }
}

std::string in_shell(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](const char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::strchr("/._-+:@%,=", c) != nullptr;
  });
  if (is_plain) return word;
  // Quotes as $'...' of bash, so that a name cannot send control characters to a terminal.
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_escaped = byte < 0x20 || byte == 0x7f || c == '\'' || c == '\\';
    out += is_escaped ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out + "'";
}

std::vector<std::string> next_commands(const Found& found, const Config& config) {
  const Result<std::string> usual = find_config(std::nullopt);
  const std::string option =
      usual && *usual == config.file ? "" : "--config " + in_shell(config.file) + " ";
  const TableState daemon(config.runtime);
  return {"zazenctl " + option + (daemon.serves() ? "reload" : "start"),
          "zazenctl " + option + "run -- PROGRAM " + in_shell(found.path)};
}

void print_outcome(const InitOptions& options, const Found& found, const Config& config,
                   const std::string& text, bool is_added) {
  const std::vector<std::string> next = next_commands(found, config);
  if (options.json) {
    return print_json({{"file", config.file},
                       {"added", is_added},
                       {"path", found.path},
                       {"frames", found.frames},
                       {"also", found.also},
                       {"names", found.names},
                       {"matches", found.matches},
                       {"sampled", !found.is_whole},
                       {"cache", config.cache},
                       {"runtime", config.runtime},
                       {"text", text},
                       {"next", next}});
  }
  if (options.dry_run) {
    fmt::print("# {}\n{}", printable(config.file), text);
    return;
  }
  print_line("{}: {} {} named {}", printable(found.path), part_in_words(found),
             found.matches == 1 ? "is" : "are", printable(found.frames));
  if (!found.also.empty()) {
    print_line("other files that are cached: {}",
               printable(fmt::format("{}", fmt::join(found.also, ", "))));
  }
  print_line("{} {}; the cache is {}", is_added ? "wrote" : "it is in", printable(config.file),
             printable(config.cache));
  print_line("next:");
  for (const std::string& command : next) print_line("  {}", command);
}

// An error about a line that no file has yet.
Error without_place(Error error, const std::string& file) {
  if (error.context.starts_with(file + ":")) {
    error.context.erase(0, error.context.find(": ", file.size()) + 2);
  }
  return error;
}

}  // namespace

int init_command(const InitOptions& options) {
  const Result<Found> found = look_at(options);
  if (!found) return fail(found.error(), found.error().code == EINVAL ? kUsage : kFailed);
  const Result<std::string> file = file_of(options.config);
  if (!file) return fail(file.error(), kUsage);

  std::string text;
  NewPlaces places;
  if (::access(file->c_str(), F_OK) == 0) {
    const Result<Config> config = load_config(*file);
    if (!config) {
      return fail({EINVAL, config.error().context,
                   "init adds to files that zazend accepts; correct it, or name another: "
                   "--config FILE"});
    }
    if (const DatasetConfig* known = config->dataset_at(found->path)) {
      Found there = *found;
      there.frames = known->frames;
      there.also = known->also_patterns();
      if (const std::string mismatch = describe_mismatch(*known); !mismatch.empty()) {
        return fail({EEXIST, found->path + ": " + mismatch, kMismatchHint});
      }
      print_outcome(options, there, *config, "", false);
      return kDone;
    }
    text = read_text(*file);
    if (!text.ends_with('\n')) text += '\n';
    text += "\n";
  } else {
    if (const Result<std::string> other = find_config(options.config);
        other && *other != *file) {
      print_warning("from now on " + *file + " counts for you, and " + *other + " does not");
    }
    const Result<NewPlaces> chosen = choose_places(found->path, options.cache);
    if (!chosen) return fail(chosen.error());
    places = *chosen;
    text = node_text(places);
  }
  text += dataset_text(*found);
  const Result<Config> config = parse_config(text, *file);
  if (!config) return fail(without_place(config.error(), *file));

  if (!options.dry_run) {
    // The directory is made at once, so that no other user makes it first.
    if (!places.made.empty() && ::mkdir(places.made.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail({errno, places.made + ": " + std::strerror(errno),
                   "--cache DIR names another place"});
    }
    if (Status written = write_text(*file, text); !written) {
      return fail({written.error().code, written.error().message(),
                   "--config FILE names another file"});
    }
  }
  warn_of(*found, *config);
  print_outcome(options, *found, *config, text, true);
  return kDone;
}

}  // namespace zazen
