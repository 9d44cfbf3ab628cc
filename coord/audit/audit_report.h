// AuditReport: the figures of an audit in the form in which they are written
// (bodhi/lean/run/report.h).
#pragma once
#include <vector>

#include "bodhi/lean/run/report.h"
#include "coord/audit/audit.h"

namespace zazen {

class AuditReport {
 public:
  AuditReport(const Audit& audit, int nodes);
  AuditReport(const AuditReport&) = delete;
  AuditReport& operator=(const AuditReport&) = delete;

  // The caller adds the fields that the audit lacks: when frames arrived, how long the protocol
  // took, why there was no filter.
  JobReport& report() { return report_; }

 private:
  std::vector<RankReport> ranks_;
  JobReport report_{};
};

}  // namespace zazen
