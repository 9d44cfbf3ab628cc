// Pushes of content that the origin may not have yet (D9).
//
// If the origin has the frame, the copy gets its identity at once; otherwise it waits
// (waiting_natives.h). A push that came before is one frame with this one if size and checksum
// are the same; an alien becomes a native. Of two contents the one that the origin has stays,
// else the newer one.
#include <fcntl.h>
#include <sys/stat.h>

#include "daemon/adoption.h"
#include "daemon/clock_tick.h"
#include "daemon/filler.h"
#include "daemon/origin.h"

namespace zazen {
namespace {

// Only a memory file has seals; without them its owner could change it while it is copied.
int check_content(int fd, struct stat* out) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) return EBADF;
  if (::fstat(fd, out) != 0) return errno;
  if (!S_ISREG(out->st_mode)) return EINVAL;
  constexpr int kUnchanging = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kUnchanging) != kUnchanging ? EINVAL : 0;
}

}  // namespace

struct Filler::OriginLook {
  int status = ENOENT;  // 0: the origin has this very frame
  bool there = false;   // it has one, whose stat this is
  struct stat origin = {};
  UniqueFd fd;
  ReachedDirectories reached;  // where all users are served
};

int Filler::receive(Lane& lane, const JobPointer& job) {
  FillRequest& request = job->request;
  struct stat content = {};
  if (int code = check_content(request.origin.get(), &content); code != 0) return code;
  std::optional<FrameCopy> copy;
  Reservation room;
  if (int code = bring(lane, job, content, &copy, &room); code != 0) return code;
  // An ordinary file may have changed while it was copied.
  struct stat after = {};
  if (::fstat(request.origin.get(), &after) != 0) return errno;
  if (!same_file(identity_of(content, request.kind, 0), after)) return ESTALE;
  request.received =
      ReceivedContent{copy->take_file(), std::move(room),
                      static_cast<std::uint64_t>(content.st_size), copy->room(),
                      copy->checksum()};
  return 0;
}

// One question for all, as far as that goes quickly; of one that does not answer nothing is
// known, and those behind it are asked about anew. The daemon looks at the origin itself.
std::vector<std::shared_ptr<Filler::OriginLook>> Filler::look_at_origins(
    std::span<const JobPointer> jobs) {
  using Clock = std::chrono::steady_clock;
  struct Look {
    std::shared_ptr<OriginLook> look;
    UniqueFd content;
    std::uint64_t bytes;
    std::string name;
  };
  auto make = [this](const JobPointer& job) {
    const FillRequest& request = job->request;
    return Look{std::make_shared<OriginLook>(),
                UniqueFd(::fcntl(request.received->file.fd(), F_DUPFD_CLOEXEC, 0)),
                request.received->bytes, store_.name_of(request.dataset, request.seq)};
  };
  const std::uint32_t dataset = jobs.front()->request.dataset;
  std::vector<std::shared_ptr<OriginLook>> answers;
  while (answers.size() < jobs.size()) {
    struct Looks {
      std::vector<Look> all;
      std::atomic<bool> begun = false;
      std::atomic<std::size_t> done = 0;
    };
    auto looks = std::make_shared<Looks>();
    for (const JobPointer& job : jobs.subspan(answers.size())) looks->all.push_back(make(job));
    auto question = [looks, waits = store_.serves_all_users(),
                     dataset = store_.dataset(dataset)] {
      for (auto begin = Clock::now();
           looks->done < looks->all.size() && Clock::now() - begin < kOriginLimit / 4;
           ++looks->done) {
        looks->begun = true;
        Look& one = looks->all[looks->done];
        OriginLook& look = *one.look;
        look.fd =
            find_named(dataset, one.name, nullptr, kToRead, waits ? &look.reached : nullptr);
        if (!look.fd.valid()) continue;
        look.there = ::fstat(look.fd.get(), &look.origin) == 0;
        // A later change of the rights must be seen by its time.
        if (waits && look.there) outwait_clock(look.origin.st_ctim, [] { return false; });
        look.status =
            compare_with_origin(one.content.get(), one.bytes, look.fd.get(), &look.origin);
      }
      return 0;
    };
    const bool answered = origins_.ask(dataset, question, kOriginLimit) == 0;
    const std::size_t done = looks->done;  // perhaps it still runs
    for (std::size_t i = 0; i < done; ++i) answers.push_back(looks->all[i].look);
    if (answered) continue;
    // The next one hangs; or the whole origin does, and was not asked.
    const std::size_t known = looks->begun ? answers.size() + 1 : jobs.size();
    answers.resize(std::min(known, jobs.size()), std::make_shared<OriginLook>());
  }
  return answers;
}

bool Filler::is_held(const FillRequest& request, const OriginLook& look, int* status) {
  std::optional<HeldFrame> held = store_.find(request.dataset, request.seq);
  OriginIdentity copy = {};
  if (!held || store_.read_copy_identity(request.dataset, request.seq, &copy) != 0) {
    return false;
  }
  bool same =
      copy.size == request.received->bytes && copy.checksum == request.received->checksum;
  *status = 0;
  if (store_.is_waiting(request.dataset, request.seq)) {
    if (same && look.status == 0) {
      (void)adopt(store_, request.dataset, request.seq, look.fd.get(), nullptr, look.reached);
    }
    return same;
  }
  // The copy may have been read while its origin changed: what comes later is newer.
  bool newer = !same && look.status == 0 && held->kind == FrameKind::kNative;
  bool current = look.there && same_file(copy, look.origin) && !newer;
  bool stays = current || (same && look.status != 0);
  if (!stays) return false;
  if (held->kind == FrameKind::kAlien) *status = store_.promote(request.dataset, request.seq);
  return *status != ENOENT;  // it was evicted just now
}

int Filler::take_received(const JobPointer& job, OriginLook& look) {
  FillRequest& request = job->request;
  request.client = nullptr;  // the origin was looked at by the daemon itself
  job->bytes = request.received->bytes;
  int status = 0;
  if (is_held(request, look, &status)) return status;
  if (store_.directory_is_full(request.dataset)) return EMLINK;
  bool known = look.status == 0;

  FinishedCopy finished;
  finished.reached = std::move(look.reached);
  finished.bytes = request.received->written;
  finished.file = std::move(request.received->file);
  finished.reservation = std::move(request.received->room);
  const struct stat& origin = look.origin;
  if (known) status = store_.assign(finished.reservation, request.dataset, origin.st_uid);
  if (status != 0) return status;
  OriginIdentity identity =
      known ? identity_of(origin, FrameKind::kNative, request.received->checksum)
            : unknown_identity(request.received->bytes, request.received->checksum);
  status = seal_copy(finished.file.fd(), identity, origin.st_atim, origin.st_mtim);
  if (status != 0) return status;
  origins_.close(request.dataset, std::exchange(request.origin, std::move(look.fd)));
  return commit(job, std::move(finished), known ? &origin : nullptr);
}

}  // namespace zazen
