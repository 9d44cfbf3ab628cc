// The plug-in's work around the real MPI_Init and MPI_Finalize of a program. Compiled once for
// each ABI, against that MPI's mpi.h.
//
// It runs inside other people's programs. It calls PMPI_ names only, communicates on a
// duplicate of MPI_COMM_WORLD, lets no exception out, and keeps errno. If anything fails, the
// program continues unfiltered.
#include "coord/plugin.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "bodhi/lean/run/report.h"
#include "bodhi/lean/system/last_words.h"
#include "coord/audit/audit.h"
#include "coord/job/job.h"
#include "coord/job/undivided.h"
#include "coord/mpi/api.h"
#include "coord/mpi/audit_messages.h"
#include "coord/mpi/backoff.h"
#include "coord/mpi/loss_status.h"
#include "coord/mpi/mpi_communicator.h"
#include "coord/mpi/presence.h"

namespace zazen {
namespace {

constexpr double kReminderSeconds = 10.0;
constexpr double kAuditFactor = 10.0;  // times the age of the job
constexpr double kViewSeconds = 5.0;   // rank 0 sends it at once

struct Job {
  bool has_launcher = false;
  Settings settings;
  MPI_Comm comm = MPI_COMM_NULL;  // the plug-in's; null if the ranks could not meet
  Agreement agreement;
  double started_at = 0;  // seconds_now() after MPI_Init
  double protocol_seconds = 0;
};

// Never destroyed: MPI has ended when destructors run.
Job* job = nullptr;

template <class Body>
void as_guest(Body&& body) noexcept {
  const int saved = errno;
  try {
    body();
  } catch (...) {  // the program continues without the plug-in
  }
  errno = saved;
}

// Reports a rank that does not come, although the user guaranteed it (ZAZEN_FILTER=on).
void remind(int rank) {
  say({"zazen: rank " + std::to_string(rank) + " has waited for the other ranks for " +
           std::to_string(static_cast<int>(kReminderSeconds) * (rank + 1)) +
           " s. ZAZEN_FILTER=on says that every rank runs under zazen with ZAZEN_FILTER=on; "
           "the "
           "launcher cannot tell.",
       "hint: end the job, and run every rank under zazen, or all with ZAZEN_FILTER=off"});
}

// A duplicate of MPI_COMM_WORLD. The ranks wait for each other without a limit, as in
// MPI_Barrier, because a collective cannot be cancelled. A rank that continued while it is
// pending would be out of step with the others in the program's own collectives. The launcher
// ends a job whose rank has died. While ranks wait for a guaranteed rank, each of them reports
// it, one after the other: any rank may be the missing one.
MPI_Comm duplicate_world(int rank, bool is_vouched_for) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Comm_idup(MPI_COMM_WORLD, &comm, &request) != MPI_SUCCESS) return MPI_COMM_NULL;
  const double began = seconds_now();
  bool reminded = !is_vouched_for;
  for (Backoff backoff;; backoff.pause()) {
    int done = 0;
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return MPI_COMM_NULL;
    if (done != 0) return comm;
    if (reminded || seconds_now() - began < kReminderSeconds * (rank + 1)) continue;
    as_guest([&] { remind(rank); });
    reminded = true;
  }
}

void agree(const PluginHost& host) {
  Agreement& agreement = job->agreement;
  agreement.expected = host.expected;
  agreement.expected_paths = host.expected_paths == nullptr ? "" : host.expected_paths;
  PMPI_Comm_rank(MPI_COMM_WORLD, &agreement.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &agreement.ranks);
  if (agreement.ranks == 1 && !job->has_launcher) {
    agreement.reason = "a single process without a launcher";
    if (host.place.is_one_of_several()) {
      agreement.reason = fmt::format(
          "the launcher started {} processes, and in MPI each is alone: is it another MPI's?",
          host.place.size);
      agreement.launched = host.place.size;
      agreement.speaker = host.place.speaks() ? 0 : -1;
    }
    agreement.nodes = host.table == nullptr ? 0 : 1;
    agreement.places = {
        {host.table == nullptr ? "" : host.table->node_name, host.ledger != nullptr}};
    return;
  }
  const double began = seconds_now();
  const Obstacle obstacle = find_obstacle(agreement.ranks);
  const double looked = seconds_now();
  const bool is_vouched_for =
      obstacle.can_be_vouched_for && job->settings.filter == FilterWish::kOn;
  if (obstacle.what != nullptr && !is_vouched_for) {
    agreement.reason = obstacle.what;
    if (obstacle.missing >= 0)
      agreement.reason +=
          ": rank " + std::to_string(obstacle.missing) + " did not, or has another version";
    agreement.speaker = obstacle.speaker;
    return;
  }
  const PreciseSleep prompt;
  job->comm = duplicate_world(agreement.rank, is_vouched_for);
  std::optional<MessageMemory> memory;
  if (job->comm != MPI_COMM_NULL) memory = MessageMemory::of_all(job->comm);
  if (!memory) {
    agreement.reason = "a rank has no memory, or MPI_COMM_WORLD cannot be duplicated";
    return;
  }
  const double met = seconds_now();
  MpiCommunicator world(job->comm, false, std::move(*memory));
  agreement = agree_on_views(world, host, job->settings);
  agreement.phases.insert(agreement.phases.begin(),
                          {{"presence", looked - began}, {"meeting", met - looked}});
}

// Started by MPI_Comm_spawn from another job.
bool was_spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  return PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

// A relative name is relative to the directory where MPI_Init was called. A job that
// MPI_Comm_spawn starts has the environment of its parent job, so its report gets a name of its
// own.
std::string report_file(std::string asked_for) {
  if (asked_for.empty()) return asked_for;
  std::error_code error;
  std::filesystem::path directory = std::filesystem::current_path(error);
  if (!error) asked_for = directory / asked_for;
  if (!was_spawned()) return asked_for;
  return asked_for + ".spawned-" + std::to_string(::getpid());
}

void before_init(const PluginHost* host) {
  as_guest([&] {
    say_only_to(host->first_stderr);
    if (job == nullptr) job = new Job;
    // First the steps that may fail: a rank that has announced itself must come to the meeting.
    job->settings = settings_from_environment();
    job->has_launcher = announce_presence();
  });
}

std::optional<Fragment> own_fragment(const PluginHost& host) {
  const Agreement& agreement = job->agreement;
  if (agreement.filtered) {
    Fragment fragment = fragment_of_view(*agreement.view, agreement.tally);
    // The ledger has the datasets that are not filtered.
    if (host.ledger != nullptr)
      add_fragment(fragment_of_ledger(*host.ledger, agreement.rank), &fragment);
    return fragment;
  }
  if (host.ledger == nullptr) return std::nullopt;
  return fragment_of_ledger(*host.ledger, agreement.rank);
}

// Counts the frames that are at the origin and not in the agreed listings. One stat for each
// dataset that the job used; a new listing only if that shows a change.
std::int64_t frames_arrived_later(const Agreement& agreement, const Audit& audit) {
  std::int64_t arrived = 0;
  for (std::size_t d = 0; d < agreement.datasets.size(); ++d) {
    const AgreedDataset& dataset = agreement.datasets[d];
    const auto used = std::ranges::find(audit.datasets, dataset.path, &DatasetAudit::path);
    if (used == audit.datasets.end()) continue;
    FrameName name;
    const char* why = nullptr;
    if (!FrameName::parse(dataset.frames.data(), dataset.frames.size(), &name, &why)) continue;
    const std::string directory = frame_directory(dataset.path, name);
    Result<DirectoryIdentity> now = stat_directory(directory, name);
    if (!now || *now == dataset.directory) continue;
    Result<Listing> listing = list_directory(directory, name);
    if (!listing) continue;
    for (FrameSeq seq : listing->frames)
      if (dataset.selection.selects(seq) &&
          domain_index(*agreement.view, agreement.view->datasets[d], seq) < 0)
        ++arrived;
  }
  return arrived;
}

void write_job_report(Audit report, const char* reason, const RunRecord* run = nullptr) {
  const Agreement& agreement = job->agreement;
  std::vector<PhaseReport> phases;
  for (const Phase& phase : agreement.phases) phases.push_back({phase.name, phase.seconds});
  if (run != nullptr)
    report.duration_seconds = static_cast<double>(wall_clock_ns() - run->started_ns) / 1e9;
  report.protocol_seconds = job->protocol_seconds;
  report.listing_seconds = agreement.listing_seconds;
  report.phases = phases.data();
  report.phase_count = phases.size();
  report.reason = reason;
  if (int code = write_report(job->settings.report.c_str(), report))
    say_if_asked(job->settings, {"zazen: " + Error{code, job->settings.report, {}}.message()});
}

// The report that stays if the job never ends properly; it replaces that of an earlier job. A
// pipe or a terminal gets only one report, at the end.
void begin_report() {
  const std::string& path = job->settings.report;
  struct stat st;
  if (path.empty() || (::lstat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode))) return;
  write_job_report(merge_fragments(job->agreement, {}), "the job did not reach MPI_Finalize");
}

// One rank, the speaker, prints the message. If the job must end, the others sleep first;
// normally the speaker's abort ends them meanwhile. Without a speaker each rank prints it.
void tell_if_undivided() {
  constexpr unsigned kSpeakerSeconds = 5;
  const DivisionVerdict verdict = verdict_on(job->agreement);
  if (verdict.line.empty()) return;
  const bool speaks = job->agreement.rank == job->agreement.speaker;
  if (!speaks && !verdict.ends) return;
  if (!speaks) ::sleep(kSpeakerSeconds);
  say({verdict.line});
  if (!verdict.ends) return;
  wait_for_stderr();
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

// Rank 1 sees both patterns of a program that divides the list itself. If rank 0 is on the same
// node, rank 1 also sees whether rank 0 has listed.
void begin_watch(const PluginHost& host) {
  const Agreement& agreement = job->agreement;
  if (agreement.ranks < 2 || agreement.rank > 1) return;
  if (agreement.rank == 0)
    return send_message(job->comm, 1, kViewTag, agreement.view_directory);
  std::vector<bool> expected(static_cast<std::size_t>(agreement.ranks));
  expected[0] = true;
  const auto directory = receive_messages(job->comm, kViewTag, expected, kViewSeconds)[0];
  if (host.watch_reading == nullptr) return;
  const View* view = nullptr;
  Tally* tally = nullptr;
  if (directory && map_view(directory->c_str(), &view, &tally) &&
      (view->job != agreement.view->job || view->rank != 0 ||
       view->dataset_count != agreement.view->dataset_count)) {
    unmap_view(view, tally);
    view = nullptr;
  }
  set_watch(host.watch_reading);
  host.watch_reading(true, view, view == nullptr ? nullptr : tally);
}

bool has_met() {
  return job->comm != MPI_COMM_NULL && !job->agreement.places.empty();
}

// Notes that this rank's record belongs to the MPI job.
void join_run(RunRecord& run) {
  const Agreement& agreement = job->agreement;
  run.ranks = std::max(run.ranks.load(), agreement.ranks);
  if (!has_met()) return;
  run.nodes = agreement.nodes;
  std::uint64_t own = run.number;
  run.job.compare_exchange_strong(own, agreement.job);
}

void after_init(const PluginHost* host) {
  as_guest([&] {
    if (job == nullptr) return;
    job->started_at = seconds_now();
    try {
      agree(*host);
    } catch (const std::exception& e) {
      job->agreement.reason = e.what();
    }
    job->settings.report = report_file(job->settings.report);
    job->protocol_seconds = seconds_now() - job->started_at - job->agreement.listing_seconds;
    if (job->agreement.filtered)
      job->agreement.tally->protocol_us =
          static_cast<std::uint64_t>(job->protocol_seconds * 1e6);
    if (job->agreement.filtered) begin_watch(*host);
    if (host->run != nullptr) join_run(*host->run);
    if (job->agreement.rank == 0) {
      say_if_asked(job->settings, start_message(job->agreement, job->protocol_seconds));
      if (job->agreement.filtered || host->ledger != nullptr) begin_report();
    }
    tell_if_undivided();
  });
}

// By rank; no value for one that did not send in time.
std::vector<std::optional<Fragment>> receive_fragments(const PluginHost& host, int tag,
                                                       const std::vector<bool>& expected) {
  // Ranks with more work come later, and the real MPI_Finalize would wait for them anyway. So
  // the limit is much longer than the job has run. It exists in case a rank never comes.
  const double wait =
      std::max(host.audit_seconds, kAuditFactor * (seconds_now() - job->started_at));
  std::vector<std::optional<std::string>> arrived =
      receive_messages(job->comm, tag, expected, wait);
  const std::uint64_t most_frames = most_frames_of_a_fragment(job->agreement.view);
  std::vector<std::optional<Fragment>> fragments(expected.size());
  for (std::size_t r = 1; r < arrived.size(); ++r) {
    if (!arrived[r]) continue;
    Result<Fragment> fragment = decode_fragment(*arrived[r], most_frames);
    if (fragment && fragment->rank == static_cast<int>(r)) fragments[r] = std::move(*fragment);
  }
  return fragments;
}

// Collects the figures of ranks with other records, for the summary that ends the job. For each
// record except rank 0's, the last rank to come sends it; the others send only their presence.
void gather_runs(const PluginHost& host) {
  const Agreement& agreement = job->agreement;
  if (!has_met()) return;
  const std::uint64_t speaker = agreement.places[0].run;
  const bool has_others = std::ranges::any_of(agreement.places, [&](const RankPlace& place) {
    return place.run != 0 && place.run != speaker;
  });
  if (speaker == 0 || !has_others) return;
  if (agreement.rank != 0) {
    if (host.run == nullptr) return;
    const auto sharing =
        std::ranges::count(agreement.places, host.run->number, &RankPlace::run);
    Fragment mine;
    if (host.run->number != speaker && host.run->finalized.fetch_add(1) + 1 == sharing) {
      host.run->finalized = 0;  // for the next MPI job of this run
      mine = fragment_of_ledger(host.run->ledger, agreement.rank);
    }
    mine.rank = agreement.rank;
    return send_message(job->comm, 0, kRunTag, encode_fragment(mine));
  }
  std::vector<bool> expected(agreement.places.size());
  for (std::size_t r = 1; r < expected.size(); ++r) expected[r] = agreement.places[r].run != 0;
  add_others(receive_fragments(host, kRunTag, expected), *host.run);
}

// Whether the job has lost frames, as far as rank 0 knows.
bool audit(const PluginHost& host) {
  const Agreement& agreement = job->agreement;
  // Unfiltered ranks report only if rank 0 writes a report; all ranks know that from the start.
  const bool met = has_met();
  const bool wanted = agreement.filtered || (met && agreement.places[0].has_ledger);
  std::optional<Fragment> mine = own_fragment(host);

  if (agreement.rank != 0) {
    if (met && wanted && mine) send_message(job->comm, 0, kFragmentTag, encode_fragment(*mine));
    return false;
  }
  if (!mine) return false;
  std::vector<std::optional<Fragment>> fragments(static_cast<std::size_t>(agreement.ranks));
  if (met && wanted) {
    std::vector<bool> expected(fragments.size());
    for (std::size_t r = 1; r < expected.size(); ++r)
      expected[r] = agreement.filtered || agreement.places[r].has_ledger;
    fragments = receive_fragments(host, kFragmentTag, expected);
  }
  fragments[0] = std::move(mine);
  Audit merged = merge_fragments(agreement, fragments);
  // The exit status of a spawned job would end the job that spawned it.
  const bool is_lost = !program_asked() && !was_spawned() && is_failure(merged);
  if (!program_asked()) say(loss_message(merged));
  if (is_lost)
    say({"zazen: so the job's exit status is 120 (audit = \"warn\": only a message)."});
  say_if_asked(job->settings, closing_message(merged));
  if (job->settings.report.empty()) return is_lost;
  merged.frames_arrived_later =
      agreement.filtered ? frames_arrived_later(agreement, merged) : 0;
  write_job_report(std::move(merged), agreement.filtered ? nullptr : agreement.reason.c_str(),
                   host.run);
  return is_lost;
}

void before_finalize(const PluginHost* host) {
  as_guest([&] {
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    if (job == nullptr || initialized == 0 || finalized != 0) return;
    bool is_lost = false;
    as_guest([&] { is_lost = audit(*host); });
    as_guest([&] { gather_runs(*host); });
    if (job->agreement.filtered && job->agreement.ranks > 1)
      share_loss(job->comm, is_lost, seconds_now() - job->started_at);
  });
}

}  // namespace
}  // namespace zazen

extern "C" __attribute__((visibility("default"))) const zazen::Plugin* zazen_plugin() {
  static constexpr zazen::Plugin plugin{zazen::kPluginVersion, zazen::before_init,
                                        zazen::after_init, zazen::before_finalize,
                                        zazen::status_at_end};
  return &plugin;
}
