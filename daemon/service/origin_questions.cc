#include "daemon/service/origin_questions.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCompareLimit(10'000);  // kMostCompared copies of a dataset
constexpr std::size_t kMostCompared = 256, kMostVerified = 64;

template <class T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t first, std::size_t most) {
  auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, all.size() - first))};
}

}  // namespace

WorkerId OriginQuestions::worker_for(std::uint32_t dataset) const {
  if (!store_.serves_all_users()) return pool_->own_worker();
  const auto owner = store_.directory_owner(dataset);
  return owner ? pool_->worker_of(owner->first, owner->second) : pool_->own_worker();
}

CompareAtOrigin OriginQuestions::comparer(WorkerId worker) const {
  return [this, worker](std::uint32_t dataset, const std::vector<CopyToCompare>& copies,
                        std::size_t threads, std::vector<Comparison>* outcomes) {
    outcomes->assign(copies.size(), Comparison::kUnknown);
    // By whom, and which of the copies.
    std::map<std::pair<uid_t, gid_t>, std::vector<std::size_t>> by_owner;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const OriginIdentity& identity = copies[i].identity;
      const bool is_shared = worker != 0 || copies[i].is_waiting;
      by_owner[is_shared ? std::pair<uid_t, gid_t>() : std::pair(identity.uid, identity.gid)]
          .push_back(i);
    }
    if (copies.empty()) by_owner[{}];  // can the origin be asked at all?
    int status = 0;
    for (const auto& [owner, places] : by_owner) {
      const bool is_owners = worker == 0 && owner != std::pair<uid_t, gid_t>();
      const WorkerId by = worker != 0 ? worker
                          : is_owners ? pool_->worker_of(owner.first, owner.second)
                                      : worker_for(dataset);
      for (std::size_t first = 0; first == 0 || first < places.size(); first += kMostCompared) {
        Compare order{dataset, static_cast<std::uint32_t>(threads), {}};
        const std::vector<std::size_t> part = part_of(places, first, kMostCompared);
        for (std::size_t i : part) order.copies.push_back(copies[i]);
        Compare::Reply reply;
        int code = pool_->order(by, order, &reply, kCompareLimit);
        // The owner of a frame need not reach the dataset.
        if (is_owners && (code == EACCES || code == EPERM || code == ENOENT)) {
          code = pool_->order(worker_for(dataset), order, &reply, kCompareLimit);
        }
        if (code != 0) {
          status = code;
          break;
        }
        for (std::size_t i = 0; i < std::min(part.size(), reply.outcomes.size()); ++i) {
          (*outcomes)[part[i]] = reply.outcomes[i];
        }
      }
    }
    return status;
  };
}

// A copy of which the worker says nothing is stale.
void OriginQuestions::verify(WorkerId worker, std::span<FinishedCopy> batch) {
  std::map<std::uint32_t, std::vector<FinishedCopy*>> by_dataset;
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && !copy.waits) by_dataset[copy.dataset].push_back(&copy);
  }
  for (const auto& [dataset, copies] : by_dataset) {
    for (std::size_t first = 0; first < copies.size(); first += kMostVerified) {
      const std::vector<FinishedCopy*> part = part_of(copies, first, kMostVerified);
      VerifyOrigins order{dataset, {}};
      for (const FinishedCopy* copy : part) {
        order.frames.push_back(
            {copy->seq, copy->identity, copy->reached, copy->kind == FrameKind::kAlien});
      }
      VerifyOrigins::Reply reply;
      if (pool_->order(worker, order, &reply, kLimit) != 0) reply.are_current.clear();
      reply.are_current.resize(part.size(), 0);
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (reply.are_current[i] != 1) part[i]->status = ESTALE;
      }
    }
  }
}

void OriginQuestions::mirror(WorkerId worker, std::uint32_t dataset,
                             const ReachedDirectories& reached) {
  if (!store_.is_mirrored(dataset, reached)) mirror_rights(dataset, worker);
}

// The owner's word counts before that of another user, whose worker might say anything. Where
// the owner does not reach the directory any more, it is another one. While the owner's worker
// does not answer, everything stays as it is.
void OriginQuestions::mirror_rights(std::uint32_t dataset, WorkerId worker) {
  std::vector<WorkerId> candidates;
  if (const auto owner = store_.directory_owner(dataset)) {
    candidates.push_back(pool_->worker_of(owner->first, owner->second));
  }
  if (worker != 0) candidates.push_back(worker);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint64_t look = store_.begin_look(dataset);
    Rights::Reply reply;
    if (pool_->order(candidates[i], Rights{dataset}, &reply, kLimit) != 0) return;
    if (!reply.is_known) return;
    const bool is_last = i + 1 == candidates.size() || candidates[i] == candidates[i + 1];
    if (!reply.rights.frame_directory && !is_last) continue;
    return store_.mirror_own_rights(dataset, look, reply.rights);
  }
}

void OriginQuestions::mirror_rights_of_names(std::uint32_t dataset) {
  const std::vector<FrameSeq> frames = store_.next_names_to_mirror(dataset);
  for (std::size_t first = 0; first < frames.size(); first += kMostVerified) {
    const std::vector<FrameSeq> part = part_of(frames, first, kMostVerified);
    NameRights::Reply reply;
    if (pool_->order(worker_for(dataset), NameRights{dataset, part}, &reply, kLimit) != 0)
      return;
    store_.mirror_rights_of_names(dataset, part, reply.rights);
  }
}

// Asks the worker of the directory's owner about all of them at once, as far as that goes
// quickly. Without an answer nothing is known of a frame.
std::vector<OriginLook> OriginQuestions::look_at(
    WorkerId worker, std::uint32_t dataset, const std::vector<ContentToLook>& contents) const {
  std::vector<OriginLook> looks;
  while (looks.size() < contents.size()) {
    const std::vector<ContentToLook> rest = part_of(contents, looks.size(), contents.size());
    Look::Reply reply;
    if (pool_->order(worker, Look{dataset, rest}, &reply, kLimit) == 0) {
      reply.looks.resize(std::clamp<std::size_t>(reply.looks.size(), 1, rest.size()));
    } else if (rest.size() > 1) {
      // One of them hangs: each is asked about alone.
      for (const ContentToLook& one : rest) looks.push_back(look_at(worker, dataset, {one})[0]);
    } else {
      reply.looks.resize(1);
    }
    std::ranges::move(reply.looks, std::back_inserter(looks));
  }
  return looks;
}

}  // namespace zazen
