// The figures come from two sets of frames, which are normally small: own frames that a rank
// did not read, and frames of others that it read. For all other frames only the counts matter.
#include "coord/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bodhi/common/units.h"

namespace zazen {
namespace {

using DatasetParts = std::vector<const DatasetFragment*>;

// The frames in at least two of the sets, and the frames in at least one.
struct Overlap {
  FrameSet any;
  FrameSet twice;
};
Overlap overlap_of(const std::vector<const FrameSet*>& sets) {
  std::vector<FrameSeq> all;
  for (const FrameSet* set : sets)
    all.insert(all.end(), set->frames().begin(), set->frames().end());
  std::ranges::sort(all);
  std::vector<FrameSeq> repeated;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] == all[i - 1]) repeated.push_back(all[i]);
  return {FrameSet(std::move(all)), FrameSet(std::move(repeated))};
}

template <class Member>
std::vector<const FrameSet*> sets_of(const DatasetParts& parts, Member member) {
  std::vector<const FrameSet*> sets;
  for (const DatasetFragment* part : parts) sets.push_back(&(part->*member));
  return sets;
}

// Every frame has one owner. An owner's own frame counts as read, unless the owner reports
// otherwise. It counts as read twice if another rank reports that it opened the frame, too.
// Frames of a rank that did not report count neither as read nor as unread.
DatasetAudit audit_filtered(const DatasetParts& parts, const AgreedDataset& agreed,
                            bool all_reported) {
  std::uint64_t assigned = 0, unread = 0;
  for (const DatasetFragment* part : parts) {
    assigned += part->assigned;
    unread += part->unread_own.size();
  }
  const FrameSet unread_own = overlap_of(sets_of(parts, &DatasetFragment::unread_own)).any;
  const Overlap others = overlap_of(sets_of(parts, &DatasetFragment::read_others));
  const FrameSet rescued = set_intersection(unread_own, others.any);

  DatasetAudit audit;
  audit.path = agreed.path;
  audit.filtered = true;
  audit.was_listed = std::ranges::any_of(parts, &DatasetFragment::listed);
  audit.mode = agreed.audit;
  audit.listed = agreed.domain_count;
  audit.read = std::min(assigned - unread + rescued.size(), agreed.domain_count);
  audit.never_read = unread_own.size() - rescued.size();
  const FrameSet owner_too = all_reported ? set_difference(others.any, unread_own) : FrameSet();
  audit.read_twice = set_union(others.twice, owner_too).size();
  return audit;
}

DatasetAudit audit_unfiltered(const DatasetParts& parts) {
  const Overlap opened = overlap_of(sets_of(parts, &DatasetFragment::opened_frames));
  const FrameSet listed = overlap_of(sets_of(parts, &DatasetFragment::listed_frames)).any;
  DatasetAudit audit;
  audit.path = parts.front()->path;
  audit.listed = set_union(listed, opened.any).size();
  audit.read = opened.any.size();
  audit.read_twice = opened.twice.size();
  audit.never_read = audit.listed - audit.read;
  return audit;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format(
      "{:.1f}%",
      whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Audit::Audit() : JobReport{} {
  frames_arrived_later = -1;
  duration_seconds = -1;
}

Audit merge_fragments(const Agreement& agreement,
                      const std::vector<std::optional<Fragment>>& fragments) {
  Audit audit;
  audit.filtered = agreement.filtered;
  audit.nodes = agreement.nodes;
  audit.ranks = agreement.ranks;
  audit.by_rank.resize(static_cast<std::size_t>(agreement.ranks));

  bool whole = true;
  std::map<std::string, DatasetParts> parts_by_path;
  std::map<std::string, int> early_ranks;  // ranks that did not list again
  for (std::size_t r = 0; r < audit.by_rank.size(); ++r) {
    RankReport& rank = audit.by_rank[r];
    rank.rank = static_cast<std::int32_t>(r);
    if (r < agreement.places.size())
      agreement.places[r].node.copy(rank.node, sizeof rank.node - 1);
    if (r >= fragments.size() || !fragments[r] ||
        fragments[r]->filtered != agreement.filtered) {
      ++audit.ranks_missing;
      continue;
    }
    const Fragment& fragment = *fragments[r];
    whole = whole && fragment.whole;
    rank.reported = true;
    rank.hits = fragment.hits;
    rank.misses = fragment.misses;
    audit.hits += fragment.hits;
    audit.misses += fragment.misses;
    audit.bytes_local += fragment.bytes_local;
    audit.bytes_origin += fragment.bytes_origin;
    for (const DatasetFragment& part : fragment.datasets) {
      parts_by_path[part.path].push_back(&part);
      if (part.listed_early && !part.listed) early_ranks.emplace(part.path, fragment.rank);
    }
  }
  std::erase_if(parts_by_path, [](const auto& entry) {
    return std::ranges::none_of(entry.second, &DatasetFragment::touched);
  });
  for (std::size_t r = 0; r < audit.by_rank.size(); ++r) {
    if (!audit.by_rank[r].reported) continue;
    for (const DatasetFragment& part : fragments[r]->datasets) {
      if (!parts_by_path.contains(part.path)) continue;
      audit.by_rank[r].assigned += part.assigned;
      audit.by_rank[r].read += part.read();
    }
  }

  const bool all_reported = audit.ranks_missing == 0;
  for (auto& [path, parts] : parts_by_path) {
    if (!agreement.filtered) {
      audit.datasets.push_back(audit_unfiltered(parts));
      continue;
    }
    auto agreed = std::ranges::find(agreement.datasets, path, &AgreedDataset::path);
    audit.datasets.push_back(agreed == agreement.datasets.end()
                                 ? audit_unfiltered(parts)  // the filter did not apply to it
                                 : audit_filtered(parts, *agreed, all_reported));
    const auto early = early_ranks.find(path);
    if (early != early_ranks.end()) audit.datasets.back().early_rank = early->second;
  }
  for (const DatasetAudit& dataset : audit.datasets) {
    audit.frames_listed += dataset.listed;
    audit.frames_read += dataset.read;
    audit.frames_read_twice += dataset.read_twice;
    audit.frames_never_read += dataset.never_read;
  }
  audit.complete = all_reported && whole;
  audit.exactly_once = audit.complete && !audit.datasets.empty() &&
                       audit.frames_never_read == 0 && audit.frames_read_twice == 0;
  audit.rank_reports = audit.by_rank.data();
  audit.rank_count = audit.by_rank.size();
  return audit;
}

void add_others(const std::vector<std::optional<Fragment>>& others, RunRecord& own) {
  std::map<std::string, FrameSet> opened;
  for (const std::optional<Fragment>& other : others) {
    if (!other) continue;
    own.other_hits += other->hits;
    own.other_misses += other->misses;
    own.other_bytes_local += other->bytes_local;
    own.other_bytes_origin += other->bytes_origin;
    if (!other->whole) own.ledger.overflowed = 1;
    for (const DatasetFragment& dataset : other->datasets)
      opened[dataset.path] = set_union(opened[dataset.path], dataset.opened_frames);
  }
  for (const DatasetFragment& dataset : fragment_of_ledger(own.ledger, 0).datasets)
    opened[dataset.path] = set_difference(opened[dataset.path], dataset.opened_frames);
  for (const auto& [path, frames] : opened) own.other_frames += frames.size();
}

std::vector<std::string> start_message(const Agreement& agreement, double seconds) {
  std::vector<std::string> lines;
  for (const LeftOut& dataset : agreement.left_out)
    lines.push_back(fmt::format("zazen: {} is not divided: {}", dataset.path, dataset.why));
  if (!agreement.filtered) {
    if (agreement.left_out.empty())
      lines.push_back(fmt::format("zazen: not filtered: {}", agreement.reason));
    return lines;
  }
  for (const AgreedDataset& dataset : agreement.datasets) {
    lines.push_back(fmt::format(
        "zazen: {} rank{} on {} node{}: {} frames of {} assigned in {:.2f} s", agreement.ranks,
        agreement.ranks == 1 ? "" : "s", agreement.nodes, agreement.nodes == 1 ? "" : "s",
        format_count(dataset.domain_count), dataset.path, seconds));
    lines.push_back(fmt::format(
        "  own node {}   adopted {}   each frame to exactly one rank",
        percent(dataset.domain_count - dataset.adopted, dataset.domain_count),
        percent(dataset.adopted, std::max<std::uint64_t>(dataset.domain_count, 1))));
  }
  return lines;
}

bool has_lost_frames(const Audit& audit, const DatasetAudit& dataset) {
  return dataset.filtered && audit.ranks > 1 && dataset.was_listed && dataset.never_read != 0;
}

bool has_repeated_frames(const Audit& audit, const DatasetAudit& dataset) {
  constexpr std::uint64_t kFewest = 3;
  return dataset.filtered && audit.ranks > 1 && dataset.early_rank >= 0 &&
         dataset.read_twice >= kFewest;
}

bool is_failure(const Audit& audit) {
  return std::ranges::any_of(audit.datasets, [&](const DatasetAudit& dataset) {
    return dataset.mode == AuditMode::kFail &&
           ((audit.ranks_missing == 0 && has_lost_frames(audit, dataset)) ||
            has_repeated_frames(audit, dataset));
  });
}

std::vector<std::string> loss_message(const Audit& audit) {
  std::vector<std::string> lines;
  for (const DatasetAudit& dataset : audit.datasets) {
    if (!has_lost_frames(audit, dataset)) continue;
    lines.push_back(fmt::format(
        "zazen: {} of {} frames of {} were not read by any rank{}.",
        format_count(dataset.never_read), format_count(dataset.listed), dataset.path,
        audit.ranks_missing == 0
            ? ""
            : fmt::format(" that reported (the figures of {} of {} ranks did not arrive)",
                          audit.ranks_missing, audit.ranks)));
  }
  if (!lines.empty())
    lines.emplace_back(
        "zazen: each rank's listing showed only its own frames; a program that divides the "
        "list itself (files[rank::size], or lists on rank 0 and scatters) must run with "
        "ZAZEN_FILTER=off.");
  for (const DatasetAudit& dataset : audit.datasets) {
    if (!has_repeated_frames(audit, dataset)) continue;
    lines.push_back(fmt::format(
        "zazen: rank {} listed {} before MPI_Init, so it saw the frames of all ranks; {} "
        "frames "
        "were read by several ranks (list after MPI_Init, or run with --no-divide).",
        dataset.early_rank, dataset.path, format_count(dataset.read_twice)));
  }
  return lines;
}

std::vector<std::string> closing_message(const Audit& audit) {
  if (audit.frames_listed == 0) return {"zazen: no frame was listed or read"};
  std::string how = audit.exactly_once ? ", each once" : "";
  if (!audit.exactly_once && audit.frames_read_twice != 0)
    how += fmt::format(", {} of them by several ranks", format_count(audit.frames_read_twice));
  if (audit.ranks_missing != 0)
    how += fmt::format(", the figures of {} of {} ranks did not arrive", audit.ranks_missing,
                       audit.ranks);
  const std::uint64_t opens = audit.hits + audit.misses;
  if (opens != 0) how += fmt::format("; {} local", percent(audit.hits, opens));
  return {fmt::format("zazen: read {} of {} frames{}", format_count(audit.frames_read),
                      format_count(audit.frames_listed), how)};
}

}  // namespace zazen
