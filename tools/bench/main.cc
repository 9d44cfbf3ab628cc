// zazen-bench: the benchmarks, one subcommand each. Only the command line is taken apart
// here. Exit codes: 0 measured, 1 failed, 2 wrong usage, 128 + the signal if interrupted.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "bodhi/common/units.h"
#include "tools/bench/benchmarks/changes_bench.h"
#include "tools/bench/benchmarks/clients_bench.h"
#include "tools/bench/benchmarks/drops_bench.h"
#include "tools/bench/benchmarks/fills_bench.h"
#include "tools/bench/benchmarks/first_miss_bench.h"
#include "tools/bench/benchmarks/hook_bench.h"
#include "tools/bench/benchmarks/listing_bench.h"
#include "tools/bench/benchmarks/misses_bench.h"
#include "tools/bench/benchmarks/push_bench.h"
#include "tools/bench/benchmarks/readers_bench.h"
#include "tools/bench/benchmarks/restart_bench.h"
#include "tools/bench/benchmarks/shim_bench.h"
#include "tools/bench/protocol/protocol_start.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/plain_push.h"
#include "tools/bench/support/worker.h"

namespace zazen {
namespace {

constexpr int kFailed = 1, kUsage = 2, kInterrupted = 128;

void print_error(const std::string& message, const std::string& hint) {
  fmt::print(stderr, "zazen-bench: error: {}\n", message);
  if (!hint.empty()) fmt::print(stderr, "hint: {}\n", hint);
}

int failed(const Error& error) {
  if (interruption() != 0) return kInterrupted + interruption();
  print_error(error.code == EPROTO ? error.context : error.message(), error.hint);
  return kFailed;
}

int shim_command(const ShimBenchOptions& options, bool json) {
  note_interruptions();
  Result<ShimFigures> figures = measure_shim(options);
  if (!figures) return failed(figures.error());
  json ? print_figures_as_json(*figures) : print_figures(*figures);
  return 0;
}

int listing_command(const ListingBenchOptions& options, bool json) {
  note_interruptions();
  Result<ListingFigures> figures = measure_listing(options);
  if (!figures) return failed(figures.error());
  print_listing_figures(*figures, json);
  return 0;
}

int restart_command(const RestartBenchOptions& options, bool json) {
  note_interruptions();
  Result<RestartFigures> figures = measure_restart(options);
  if (!figures) return failed(figures.error());
  print_restart_figures(*figures, json);
  return 0;
}

int protocol_command(const std::string& frames, const std::string& workload, bool json) {
  const std::optional<std::size_t> count = parse_frames(frames);
  if (!count) {
    print_error("--frames " + frames + ": not a number of frames",
                "zazen-bench protocol --help shows what there is");
    return kUsage;
  }
  return failed(start_protocol_bench(*count, workload, json));
}

int fills_command(const FillsBenchOptions& options, bool json) {
  note_interruptions();
  Result<std::vector<FillFigures>> figures = measure_fills(options);
  if (!figures) return failed(figures.error());
  print_fill_figures(*figures, json);
  return 0;
}

int clients_command(const ClientsBenchOptions& options, bool json) {
  note_interruptions();
  Result<std::vector<ClientFigures>> figures = measure_clients(options);
  if (!figures) return failed(figures.error());
  print_client_figures(*figures, json);
  return 0;
}

int first_miss_command(const FirstMissOptions& options, bool json) {
  note_interruptions();
  Result<FirstMissFigures> figures = measure_first_miss(options);
  if (!figures) return failed(figures.error());
  print_first_miss_figures(*figures, json);
  return 0;
}

int changes_command(const ChangesBenchOptions& options, bool json) {
  note_interruptions();
  Result<ChangeFigures> figures = measure_changes(options);
  if (!figures) return failed(figures.error());
  print_change_figures(*figures, json);
  return 0;
}

int misses_command(const MissesBenchOptions& options, bool json) {
  note_interruptions();
  Result<MissFigures> figures = measure_misses(options);
  if (!figures) return failed(figures.error());
  print_miss_figures(*figures, json);
  return 0;
}

int drops_command(const DropsBenchOptions& options, bool json) {
  note_interruptions();
  Result<DropFigures> figures = measure_drops(options);
  if (!figures) return failed(figures.error());
  print_drop_figures(*figures, json);
  return 0;
}

int hook_command(const HookBenchOptions& options, bool json) {
  note_interruptions();
  Result<HookFigures> figures = measure_hook(options);
  if (!figures) return failed(figures.error());
  print_hook_figures(*figures, json);
  return 0;
}

// False, and said so, if it is none.
bool size_option(const std::string& name, const std::string& text, std::uint64_t* bytes) {
  Result<std::uint64_t> size = parse_size(text);
  if (!size || *size == 0) {
    print_error(name + " " + text + ": not a size", "for example 2MB");
    return false;
  }
  *bytes = *size;
  return true;
}

int push_command(PushBenchOptions options, const std::string& frame_size, bool json) {
  if (!size_option("--frame-size", frame_size, &options.frame_bytes)) return kUsage;
  note_interruptions();
  Result<std::vector<PushFigures>> figures = measure_push(options);
  if (!figures) return failed(figures.error());
  print_push_figures(*figures, json);
  return 0;
}

struct ReadersSizes {  // as they were given
  std::vector<std::string> read{"2MB", "64MB", "256MB"}, write{"2MB", "64MB", "256MB"};
  std::string read_bytes = "1GB", rate;
};

int readers_command(ReadersBenchOptions options, const ReadersSizes& sizes, bool json) {
  for (const std::string& size : sizes.read) {
    if (!size_option("--read-size", size, &options.read_sizes.emplace_back())) return kUsage;
  }
  for (const std::string& size : sizes.write) {
    if (!size_option("--write-size", size, &options.write_sizes.emplace_back())) return kUsage;
  }
  if (!size_option("--read-bytes", sizes.read_bytes, &options.read_bytes)) return kUsage;
  if (!sizes.rate.empty() && !size_option("--rate", sizes.rate, &options.rate)) return kUsage;
  note_interruptions();
  Result<std::vector<ReadersFigures>> figures = measure_readers(options);
  if (!figures) return failed(figures.error());
  print_readers_figures(*figures, json);
  return 0;
}

void add_directory(CLI::App* command, std::string* directory, const char* text) {
  command->add_option("--dir", *directory, text)->type_name("DIR");
}

// Also as 1e6.
void add_frames(CLI::App* command, std::uint64_t* frames, double least, const char* text) {
  command
      ->add_option_function<double>(
          "--frames", [frames](double n) { *frames = static_cast<std::uint64_t>(n); }, text)
      ->type_name("N")
      ->check(CLI::Range(least, 1e8).description(""));
}

int zazen_bench(int argc, char** argv) {
  CLI::App app("Measure what Zazen costs and what it gains, on this machine.", "zazen-bench");
  app.set_version_flag("--version", "zazen-bench " ZAZEN_VERSION);
  app.footer("\nExample:\n  zazen-bench shim --json\n");
  app.require_subcommand(1);

  const char* temporary = std::getenv("TMPDIR");
  ShimBenchOptions options;
  options.directory = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
  bool json = false;
  CLI::App* shim = app.add_subcommand(
      "shim", "Compare calls through the shim with the same calls without it.");
  shim->add_flag("--json", json, "Print JSON");
  add_directory(shim, &options.directory,
                "Where to make the temporary directory; origin and cache are below it "
                "(default: $TMPDIR or /tmp)");
  shim->add_option("--rounds", options.rounds,
                   "How often to measure all; more is steadier (default: 30)")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000).description(""));
  shim->footer(
      "\nIt measures reading and stat of cached frames, open and stat of other files, and "
      "exec.\n"
      "It starts a zazend of its own in a temporary directory, and leaves nothing behind.\n"
      "The ratio is the median, over pairs of short turns, of the shim's p50 by the plain "
      "p50.\n"
      "\nExample:\n  zazen-bench shim --rounds 100\n");

  ListingBenchOptions listing_options;
  listing_options.directory = options.directory;
  CLI::App* listing = app.add_subcommand(
      "listing", "Compare a rank's listing of a large directory with the plain one.");
  listing->add_flag("--json", json, "Print JSON");
  add_directory(listing, &listing_options.directory,
                "Where to make the directory of frames (default: $TMPDIR or /tmp)");
  add_frames(listing, &listing_options.frames, 1, "How many frames (default: 1e6)");
  listing->add_option("--rounds", listing_options.rounds, "How often (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  listing->footer("\nExample:\n  zazen-bench listing --frames 1e5\n");

  RestartBenchOptions restart_options;
  restart_options.directory = options.directory;
  CLI::App* restart = app.add_subcommand(
      "restart",
      "Start a daemon that holds many copies, after a clean stop and after SIGKILL.");
  restart->add_flag("--json", json, "Print JSON");
  add_directory(restart, &restart_options.directory,
                "Where to make the cache (default: $TMPDIR or /tmp)");
  add_frames(restart, &restart_options.frames, 1000, "How many copies (default: 1e6)");
  restart->add_flag("--synthetic", restart_options.synthetic,
                    "Only in the sequence log, without a file for each");
  restart->footer("\nExample:\n  zazen-bench restart --frames 1e7 --synthetic\n");

  std::string frames = "1e7", workload = "roundrobin";
  CLI::App* protocol = app.add_subcommand(
      "protocol", "Assign frames by both algorithms, under mpirun; each rank is a node.");
  protocol->add_flag("--json", json, "Print JSON");
  protocol->add_option("--frames", frames, "How many frames (default: 1e7)")->type_name("N");
  protocol->add_option("--workload", workload, "What the nodes hold (default: roundrobin)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"roundrobin", "blocks", "holes"}));
  protocol->footer(
      "\nroundrobin: each frame native on one node, in random order; blocks: natives in "
      "blocks, "
      "all\nothers aliens; holes: roundrobin with 5% of the frames nowhere, 5% aliens on "
      "several.\n"
      "\nExample:\n  mpirun -n 8 zazen-bench protocol --frames 1e9 --workload holes --json\n");

  FillsBenchOptions fills_options;
  fills_options.directory = options.directory;
  CLI::App* fills = app.add_subcommand(
      "fills", "Compare reads of a throttled file server's frames with and without Zazen.");
  fills->add_flag("--json", json, "Print JSON");
  add_directory(fills, &fills_options.directory,
                "Where to make frames and cache (default: $TMPDIR or /tmp)");
  fills->add_option("--rounds", fills_options.rounds, "Pairs of each case (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  fills->footer(
      "\nIt needs FUSE. A round takes about 40 seconds.\n"
      "\nExample:\n  zazen-bench fills --rounds 3\n");

  ClientsBenchOptions clients_options;
  clients_options.directory = options.directory;
  CLI::App* clients = app.add_subcommand(
      "clients", "Compare a client's requests with and without others that attack the daemon.");
  clients->add_flag("--json", json, "Print JSON");
  add_directory(clients, &clients_options.directory,
                "Where to make the temporary directory (default: $TMPDIR or /tmp)");
  clients->add_option("--rounds", clients_options.rounds, "Pairs of each attack (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  clients
      ->add_option("--requests", clients_options.requests,
                   "Of each kind in a turn (default: 500)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  clients->footer("\nExample:\n  zazen-bench clients --rounds 3\n");

  FirstMissOptions first_miss_options;
  first_miss_options.directory = options.directory;
  CLI::App* first_miss = app.add_subcommand(
      "first-miss", "Compare a user's first miss, which starts a worker, with the next one.");
  first_miss->add_flag("--json", json, "Print JSON");
  add_directory(first_miss, &first_miss_options.directory,
                "Where to make the temporary directory (default: $TMPDIR or /tmp)");
  first_miss->add_option("--users", first_miss_options.users, "How many (default: 40)")
      ->type_name("N")
      ->check(CLI::Range(1, 200).description(""));
  first_miss->footer("\nIt needs root.\n\nExample:\n  zazen-bench first-miss --users 100\n");

  ChangesBenchOptions changes_options;
  changes_options.directory = options.directory;
  CLI::App* changes = app.add_subcommand(
      "changes", "Compare creating, rewriting and removing frames with and without the shim.");
  changes->add_flag("--json", json, "Print JSON");
  add_directory(changes, &changes_options.directory,
                "Where to make frames and cache (default: $TMPDIR or /tmp)");
  changes->add_option("--rounds", changes_options.rounds, "How often (default: 20)")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000).description(""));
  changes
      ->add_option("--user", changes_options.user,
                   "As this user, with a daemon that serves all (root only)")
      ->type_name("UID");
  changes->footer(
      "\nThe sides are a dataset, one whose frames have copies, and one with push = true.\n"
      "The ratio is the median, over pairs of short turns, of the shim's p50 by the plain "
      "p50.\n"
      "\nExample:\n  zazen-bench changes --rounds 50\n");

  MissesBenchOptions misses_options;
  misses_options.directory = options.directory;
  CLI::App* misses = app.add_subcommand(
      "misses", "Compare the first pass over uncached frames with and without Zazen.");
  misses->add_flag("--json", json, "Print JSON");
  add_directory(misses, &misses_options.directory,
                "Where to make frames and cache (default: $TMPDIR or /tmp)");
  misses->add_option("--rounds", misses_options.rounds, "How often (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000).description(""));
  misses->footer(
      "\nThe origin is a file server on FUSE whose every request takes 0.3 ms. The requests "
      "are\n"
      "those for one frame: without Zazen, with it, and with those of the fill. At the end "
      "both\n"
      "sides read only the first 4 KB of frames of 64 MB.\n"
      "\nExample:\n  zazen-bench misses --rounds 3\n");

  DropsBenchOptions drops_options;
  drops_options.directory = options.directory;
  CLI::App* drops = app.add_subcommand(
      "drops", "Measure how soon other nodes drop frames that are changed through one node.");
  drops->add_flag("--json", json, "Print JSON");
  add_directory(drops, &drops_options.directory,
                "Where to make the frames and the caches (default: $TMPDIR or /tmp)");
  add_frames(drops, &drops_options.frames, 1, "How many changes (default: 300)");
  drops->add_option("--nodes", drops_options.nodes, "How many daemons (default: 3)")
      ->type_name("N")
      ->check(CLI::Range(2, 64).description(""));
  drops->footer(
      "\nThe nodes talk over TCP on the loopback, with a key. The frames are written, "
      "truncated,\n"
      "renamed over and removed in turn, by a program under the first node's shim.\n"
      "\nExample:\n  zazen-bench drops --nodes 8\n");

  HookBenchOptions hook_options;
  hook_options.directory = options.directory;
  CLI::App* hook = app.add_subcommand(
      "hook", "Measure what the hook adds to MPI_Init, with real daemons and mpirun.");
  hook->add_flag("--json", json, "Print JSON");
  add_directory(hook, &hook_options.directory,
                "Where to make the frames and the caches (default: $TMPDIR or /tmp)");
  hook->add_option("--origin", hook_options.origin,
                   "Where to make the frames (default: as --dir)")
      ->type_name("DIR");
  add_frames(hook, &hook_options.frames, 1, "How many frames of each dataset (default: 1e6)");
  hook->add_option("--datasets", hook_options.datasets,
                   "How many datasets; the program reads one (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 256).description(""));
  hook->add_option("--ranks", hook_options.ranks, "How many ranks (default: 8)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  hook->add_option("--nodes", hook_options.nodes, "How many daemons (default: 8)")
      ->type_name("N")
      ->check(CLI::Range(1, 256).description(""));
  hook->add_flag("--shuffled", hook_options.shuffled,
                 "Frames written in no order, on the nodes at random");
  hook->add_option("--rounds", hook_options.rounds, "How many jobs (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  hook->footer("\nExample:\n  zazen-bench hook --frames 1e6 --ranks 8 --nodes 1\n");

  PushBenchOptions push_options;
  push_options.directory = options.directory;
  std::string frame_size = "2MB";
  CLI::App* push = app.add_subcommand(
      "push", "Compare pushes over TCP with a plain sendfile loop, rsync and scp.");
  push->add_flag("--json", json, "Print JSON");
  add_directory(push, &push_options.directory,
                "Where to make frames and caches (default: $TMPDIR or /tmp)");
  push->add_option("--frame-size", frame_size, "Of each frame (default: 2MB)")
      ->type_name("SIZE");
  add_frames(push, &push_options.frames, 1, "How many frames in a turn (default: 100)");
  push->add_option("--rounds", push_options.rounds, "How many turns of each (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  push->add_option("--only", push_options.only, "Of the ways, these (default: all)")
      ->type_name("WAY")
      ->check(CLI::IsMember({"plain", "key_files", "key_memory", "loopback_files",
                             "loopback_memory", "rsync", "rsync_fsync", "scp"}));
  push->footer(
      "\nThe plain loop makes the same flushes as the daemon's store, and nothing else.\n"
      "\nExample:\n  zazen-bench push --frame-size 4KB --frames 1e6 --rounds 1 --only "
      "key_memory\n");

  ReadersBenchOptions readers_options;
  readers_options.directory = options.directory;
  ReadersSizes sizes;
  CLI::App* readers = app.add_subcommand(
      "readers", "Compare reads of cached frames with and without pushes to the same node.");
  readers->add_flag("--json", json, "Print JSON");
  add_directory(readers, &readers_options.directory,
                "Where to make frames and cache, on a disk (default: $TMPDIR or /tmp)");
  readers
      ->add_option("--read-size", sizes.read,
                   "Of a frame that is read; may be repeated (default: 2MB, 64MB, 256MB)")
      ->type_name("SIZE");
  readers
      ->add_option("--write-size", sizes.write,
                   "Of a frame that is pushed; may be repeated (default: 2MB, 64MB, 256MB)")
      ->type_name("SIZE");
  readers
      ->add_option("--read-bytes", sizes.read_bytes,
                   "Of all frames of one size that are read (default: 1GB)")
      ->type_name("SIZE");
  readers
      ->add_option("--rate", sizes.rate,
                   "Pushed in a second (default: 5% of what is read without pushes)")
      ->type_name("SIZE");
  readers->add_option("--readers", readers_options.readers, "How many processes (default: 2)")
      ->type_name("N")
      ->check(CLI::Range(1, 256).description(""));
  readers->add_option("--rounds", readers_options.rounds, "Pairs of turns (default: 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  readers
      ->add_option("--turn", readers_options.turn_seconds,
                   "How long a turn is, at least (default: 3)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 600.0).description(""));
  readers->footer(
      "\nA turn is so long that whole frames are pushed in it: 20 times as much is read. "
      "Frames of\n1 GB take long, and 3 GB of memory.\n"
      "\nExample:\n  zazen-bench readers --read-size 64MB --write-size 1GB --rounds 3\n");

  Side side = Side::kPlain;
  std::string root;
  CLI::App* worker = app.add_subcommand("shim-worker", "One side of one round")->group("");
  worker->add_option("SIDE", side)
      ->required()
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Side>{{"plain", Side::kPlain}, {"shim", Side::kShim}}));
  worker->add_option("ROOT", root)->required();

  std::string directory;
  CLI::App* lister = app.add_subcommand("listing-worker", "One side")->group("");
  lister->add_option("DIRECTORY", directory)->required();
  CLI::App* one_reader = app.add_subcommand("readers-worker", "A reader")->group("");
  one_reader->add_option("ROOT", root)->required();
  CLI::App* writer = app.add_subcommand("changes-worker", "It writes frames")->group("");
  writer->add_option("ROOT", root)->required();
  CLI::App* misser = app.add_subcommand("misses-worker", "It reads frames")->group("");
  misser->add_option("ROOT", root)->required();
  CLI::App* changer = app.add_subcommand("drops-worker", "It changes frames")->group("");
  changer->add_option("ROOT", root)->required();
  CLI::App* reader = app.add_subcommand("restart-worker", "The reader")->group("");
  reader->add_option("DIRECTORY", directory)->required();
  CLI::App* receiver = app.add_subcommand("push-receiver", "The plain one")->group("");
  receiver->add_option("DIRECTORY", directory)->required();
  FrameReading reading;
  CLI::App* filler = app.add_subcommand("fills-worker", "A reader")->group("");
  filler->add_option("PATH", reading.path)->required();
  filler->add_option("FIRST", reading.first)->required();
  filler->add_option("END", reading.end)->required();
  filler->add_option("PIECE", reading.piece)->required();
  filler->add_option("PAUSE_MS", reading.pause_ms)->required();
  std::string attack;
  CLI::App* attacker = app.add_subcommand("clients-attacker", "An attack")->group("");
  attacker->add_option("ATTACK", attack)->required();
  attacker->add_option("RUNTIME", directory)->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);
    }
    print_error(error.what(), "zazen-bench --help shows what there is");
    return kUsage;
  }
  if (worker->parsed()) return shim_worker(side, root);
  if (lister->parsed()) return listing_worker(directory);
  if (reader->parsed()) return restart_worker(directory);
  if (protocol->parsed()) return protocol_command(frames, workload, json);
  if (filler->parsed()) return fills_worker(reading);
  if (attacker->parsed()) return clients_attacker(attack, directory);
  if (fills->parsed()) return fills_command(fills_options, json);
  if (clients->parsed()) return clients_command(clients_options, json);
  if (first_miss->parsed()) return first_miss_command(first_miss_options, json);
  if (receiver->parsed()) return plain_receiver(directory);
  if (push->parsed()) return push_command(push_options, frame_size, json);
  if (one_reader->parsed()) return readers_worker(root);
  if (readers->parsed()) return readers_command(readers_options, sizes, json);
  if (writer->parsed()) return changes_worker(root);
  if (changes->parsed()) return changes_command(changes_options, json);
  if (misser->parsed()) return misses_worker(root);
  if (misses->parsed()) return misses_command(misses_options, json);
  if (changer->parsed()) return drops_worker(root);
  if (drops->parsed()) return drops_command(drops_options, json);
  if (hook->parsed()) return hook_command(hook_options, json);
  if (restart->parsed()) return restart_command(restart_options, json);
  if (listing->parsed()) return listing_command(listing_options, json);
  return shim_command(options, json);
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  return zazen::zazen_bench(argc, argv);
}
