#include "daemon/changes/reported_changes.h"

#include <sys/stat.h>

#include "bodhi/lean/frames/table.h"
#include "daemon/process/log.h"

namespace zazen {
namespace {

bool is_version(const OriginIdentity& copy, const FrameVersion& version) {
  return !version.gone && copy.size == version.size && copy.mtime_ns == version.mtime_ns &&
         copy.ctime_ns == version.ctime_ns;
}

std::int64_t clock_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return to_ns(now);
}

}  // namespace

ReportedChanges::ReportedChanges(const Config& config, Store& store, DropHistory& history,
                                 std::uint64_t own_life, Hooks hooks)
    : config_(config),
      store_(store),
      history_(history),
      own_life_(own_life),
      hooks_(std::move(hooks)),
      lives_(store.disk().state_fd()) {}

int ReportedChanges::take(std::string_view body) {
  ChangeNotice notice;
  if (!decode(body, &notice)) return EINVAL;
  if (notice.life == own_life_) return ELOOP;
  ++notices_;
  if (!lives_.has_met(notice.life)) meet(notice);
  if (notice.kind == NoticeKind::kHello) return 0;
  for (std::uint32_t i = 0; i < store_.datasets(); ++i) {
    if (config_.datasets[i].path != notice.dataset) continue;
    if (notice.kind == NoticeKind::kDistrust) {
      put_in_doubt(i, "node " + notice.node + " could not tell which frames were changed");
      continue;
    }
    std::vector<Told> frames = read_frames(i, notice);
    frames_ += frames.size();
    bool all_fit = true;
    {
      std::lock_guard lock(mutex_);
      for (const Told& told : frames) {
        const std::pair key{i, told.seq};
        const bool fits = again_.size() < kMostAgain || again_.contains(key);
        if (fits) again_.insert_or_assign(key, told);
        all_fit = all_fit && fits;
      }
    }
    apply(i, frames);
    if (!all_fit) put_in_doubt(i, "too many frames were reported at once");
  }
  return 0;
}

void ReportedChanges::meet(const ChangeNotice& notice) {
  for (std::uint32_t i = 0; i < store_.datasets(); ++i) {
    if (config_.datasets[i].removed) continue;  // it is doubted when it comes back
    put_in_doubt(i,
                 "node " + notice.node + " has started, and changes before that are not known");
  }
  lives_.remember(notice.life);
  log_line(LogLevel::kInfo, "peer_started",
           {{"node", notice.node}, {"what", "copies are compared with their origins"}});
}

void ReportedChanges::put_in_doubt(std::uint32_t dataset, const std::string& why) {
  ++doubts_;
  history_.note_doubt(dataset, why);
  hooks_.doubt(dataset);
}

std::vector<ReportedChanges::Told> ReportedChanges::read_frames(
    std::uint32_t dataset, const ChangeNotice& notice) const {
  std::vector<Told> frames;
  for (const FrameNews& news : notice.frames) {
    FrameSeq seq;
    if (!config_.datasets[dataset].name.match(news.name.data(), news.name.size(), &seq))
      continue;
    const std::int64_t looked_ns = clock_ns() - std::int64_t{news.age_ms} * 1'000'000;
    frames.push_back(
        {seq, news.version, notice.node, looked_ns, monotonic_ms() + kAgainMs, kAgainMs});
  }
  return frames;
}

ReportedChanges::Judgement ReportedChanges::weigh(std::uint32_t dataset, const Told& told,
                                                  ExactCopy* exact) const {
  if (!store_.find(dataset, told.seq) || store_.is_waiting(dataset, told.seq)) {
    return Judgement::kCurrent;
  }
  const UniqueFd copy = store_.open_copy(dataset, told.seq);
  struct stat local = {};
  OriginIdentity identity = {};
  if (!copy.valid() || ::fstat(copy.get(), &local) != 0) return Judgement::kUnknown;
  if (read_identity(copy.get(), &identity) != 0) return Judgement::kUnknown;
  *exact = ExactCopy::of(told.seq, local);
  if (is_version(identity, told.version)) return Judgement::kCurrent;
  const bool is_older = told.version.gone ? exact->ctime_ns < told.looked_ns
                                          : identity.ctime_ns <= told.version.ctime_ns;
  return is_older ? Judgement::kStale : Judgement::kUnknown;
}

void ReportedChanges::apply(std::uint32_t dataset, const std::vector<Told>& frames) {
  std::vector<ExactCopy> stale;
  std::vector<Told> why;
  std::vector<FrameSeq> unknown;
  for (const Told& told : frames) {
    ExactCopy copy;
    const Judgement judgement = weigh(dataset, told, &copy);
    if (judgement == Judgement::kUnknown) unknown.push_back(told.seq);
    if (judgement != Judgement::kStale) continue;
    stale.push_back(copy);
    why.push_back(told);
  }
  if (!stale.empty()) drop(dataset, stale, why);
  if (!unknown.empty()) hooks_.compare(dataset, std::move(unknown));
}

void ReportedChanges::drop(std::uint32_t dataset, const std::vector<ExactCopy>& copies,
                           const std::vector<Told>& why) {
  for (const Told& told : why) {
    const std::string what = told.version.gone ? "removed" : "changed";
    history_.note_drop(dataset, told.seq,
                       "node " + told.node + " reported that it was " + what);
  }
  dropped_ += store_.drop_exactly(dataset, copies).frames;
  for (const Told& told : why) {
    if (!store_.find(dataset, told.seq)) continue;
    // The disk does not remove it, or a new copy has come.
    put_in_doubt(dataset,
                 "the copy of a frame that node " + told.node + " reported is still there");
  }
}

void ReportedChanges::look_again() {
  std::map<std::uint32_t, std::vector<Told>> due;
  {
    std::lock_guard lock(mutex_);
    const std::int64_t now_ms = monotonic_ms();
    for (auto& [key, told] : again_) {
      if (now_ms < told.due_ms) continue;
      due[key.first].push_back(told);
      told.pause_ms *= 4;
      told.due_ms = now_ms + told.pause_ms;
    }
    std::erase_if(again_,
                  [](const auto& entry) { return entry.second.pause_ms > kLongestAgainMs; });
  }
  for (const auto& [dataset, frames] : due) apply(dataset, frames);
}

ReportedChanges::Figures ReportedChanges::figures() const {
  return {notices_, frames_, dropped_, doubts_};
}

}  // namespace zazen
