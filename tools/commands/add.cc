// zazenctl add: the owner of a directory makes it a dataset of this node at once, where the
// operator allows that, or takes it away again. zazend keeps it; the configuration stays as it
// is.
#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/config/joined_datasets.h"
#include "bodhi/config/template_check.h"
#include "tools/commands/commands.h"
#include "tools/support/node.h"
#include "tools/support/output.h"

namespace zazen {
namespace {

int fail(const Error& error, int exit_status = kFailed) {
  print_error(error.context, error.hint);
  return exit_status;
}

struct Wanted {
  std::string path;
  std::string frames;
  std::size_t names = 0, matches = 0;
};

// The daemon takes real paths only, so that a link cannot lead elsewhere later.
std::string real_path(const std::string& directory) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(directory, error);
  return error ? std::filesystem::absolute(directory).lexically_normal().string()
               : real.string();
}

Result<Wanted> look_at(const AddOptions& options) {
  Wanted wanted;
  wanted.path = real_path(options.directory);
  if (std::string why = describe_bad_path(wanted.path); !why.empty()) {
    return Error{EINVAL, wanted.path + ": no path for a dataset: " + why,
                 "give the directory another name, or ask the operator"};
  }
  Result<DirectoryNames> names = examine_directory(wanted.path);
  if (!names) {
    return Error{names.error().code, names.error().message(),
                 "name the directory of the frames at the shared file system"};
  }
  wanted.names = names->names.size();
  wanted.frames = options.frames.empty() ? names->guess.frames : options.frames;
  if (wanted.frames.empty()) {
    return Error{
        ENOENT,
        wanted.path + (wanted.names == 0 ? ": no files there"
                                         : ": no file name has a number, as frames have"),
        "name the frames yourself, if they are still to come: --frames \"f{seq}\""};
  }
  FrameName compiled;
  const char* why = "";
  if (!FrameName::parse(wanted.frames.data(), wanted.frames.size(), &compiled, &why)) {
    return Error{EINVAL, fmt::format("--frames {}: not a frame name: {}", wanted.frames, why),
                 "for example: --frames \"frame-{seq:06}.xtc\""};
  }
  for (const std::string& name : names->names) {
    FrameSeq seq;
    if (compiled.match(name.data(), name.size(), &seq)) ++wanted.matches;
  }
  return wanted;
}

std::string overlapping(const Node& node, const std::string& path) {
  for (const DatasetConfig& each : node.config.datasets) {
    const bool is_inner = path.starts_with(each.path + "/");
    if (each.path == path || is_inner || each.path.starts_with(path + "/")) {
      return fmt::format("{} is a dataset with frames = \"{}\"", printable(each.path),
                         printable(each.frames));
    }
  }
  return "it overlaps another dataset, the cache or the runtime directory";
}

// Why zazend refuses, in words.
int refused(const Node& node, const AddOptions& options, const std::string& path,
            const Error& error) {
  switch (error.code) {
    case EPERM:
      return fail({EPERM, path + ": this node takes no datasets of users",
                   "ask the operator for  user_datasets = true  in " + node.config.file});
    case EACCES:
      return fail({EACCES,
                   path + (options.removes ? ": only the user who has added it may take it away"
                                           : ": only the owner of a directory may add it"),
                   "ls -ld shows the owner: ls -ld " + path});
    case EEXIST:
      return fail({EEXIST, path + ": " + overlapping(node, path),
                   "zazenctl status lists the datasets"});
    case EBUSY:
      return fail({EBUSY, path + ": copies of frames with another name are there from before",
                   "ask the operator to restart zazend, or name the frames as before"});
    case EDQUOT:
      return fail(
          {EDQUOT, path + ": you have added as many datasets as one user may",
           "zazenctl add --remove DIR takes one away; its place is free after a restart "
           "of zazend"});
    case EAGAIN:
      return fail({EAGAIN, path + ": too many changes in a minute", "try again in a minute"});
    case E2BIG:
      return fail({E2BIG, path + ": no more datasets fit on this node", "ask the operator"});
    case ENOENT:
      if (options.removes) {
        return fail({ENOENT, path + ": no user has added it",
                     "the datasets of " + node.config.file + " are the operator's"});
      }
      break;
    default:
      break;
  }
  return request_failed(node, path, error);
}

}  // namespace

int add_command(const AddOptions& options) {
  const Node node = load_node_or_exit(options.config, kUsage);
  Wanted wanted;
  if (options.removes) {
    wanted.path = real_path(options.directory);
  } else {
    Result<Wanted> found = look_at(options);
    if (!found) return fail(found.error(), found.error().code == EINVAL ? kUsage : kFailed);
    wanted = std::move(*found);
  }
  Client daemon = connect_or_exit(node);
  if (Status done = daemon.add_dataset(wanted.path, wanted.frames, options.removes); !done) {
    return refused(node, options, wanted.path, done.error());
  }
  if (options.json) {
    print_json({{"path", wanted.path},
                {"frames", wanted.frames},
                {"added", !options.removes},
                {"names", wanted.names},
                {"matches", wanted.matches}});
    return kDone;
  }
  if (options.removes) {
    fmt::print("{}: no dataset of this node any more; its copies go when room is needed\n",
               printable(wanted.path));
    return kDone;
  }
  fmt::print("{}: {} of {} files are named {}\n", printable(wanted.path),
             format_count(wanted.matches), format_count(wanted.names),
             printable(wanted.frames));
  if (wanted.matches == 0) print_warning(wanted.path + ": no file has such a name yet");
  fmt::print("served from now on; zazenctl add --remove takes it away\n");
  return kDone;
}

}  // namespace zazen
