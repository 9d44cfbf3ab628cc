#include "coord/audit/audit_report.h"

namespace zazen {

AuditReport::AuditReport(const Audit& audit, int nodes) : ranks_(audit.by_rank.size()) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankAudit& from = audit.by_rank[r];
    RankReport& to = ranks_[r];
    to = {};
    to.rank = static_cast<std::int32_t>(r);
    from.node.copy(to.node, sizeof to.node - 1);
    to.assigned = from.assigned;
    to.read = from.read;
    to.hits = from.hits;
    to.misses = from.misses;
    to.reported = from.reported;
  }
  report_.filtered = audit.filtered;
  report_.complete = audit.complete;
  report_.frames_listed = audit.sum(&DatasetAudit::listed);
  report_.frames_read = audit.sum(&DatasetAudit::read);
  report_.frames_read_twice = audit.sum(&DatasetAudit::read_twice);
  report_.frames_never_read = audit.sum(&DatasetAudit::never_read);
  report_.frames_arrived_later = -1;
  report_.duration_seconds = -1;
  report_.exactly_once = audit.exactly_once;
  report_.hits = audit.hits;
  report_.misses = audit.misses;
  report_.bytes_local = audit.bytes_local;
  report_.bytes_origin = audit.bytes_origin;
  report_.nodes = nodes;
  report_.ranks = audit.ranks;
  report_.rank_reports = ranks_.data();
  report_.rank_count = ranks_.size();
}

}  // namespace zazen
