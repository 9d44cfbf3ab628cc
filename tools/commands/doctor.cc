// zazenctl doctor: is this node in order, and does the shim reach a program? Each line is ok,
// warn or fail, with a remedy. The exit status is 4 if any line is fail.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/commands/commands.h"
#include "tools/doctor/findings.h"
#include "tools/doctor/node_check.h"
#include "tools/doctor/program_check.h"
#include "tools/doctor/shim_check.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

std::string summary(const Findings& findings) {
  if (findings.failures() == 0 && findings.warnings() == 0) return "all is well";
  return plural(static_cast<std::uint64_t>(findings.failures()), "failure") + ", " +
         plural(static_cast<std::uint64_t>(findings.warnings()), "warning");
}

const char* in_words(const ProgramVerdict& verdict, const Findings& node) {
  if (!verdict.reached) return "the shim does not reach it";
  return node.failures() == 0 ? "the shim reaches it"
                              : "the shim would reach it, but the node has failures";
}

}  // namespace

int doctor_command(const DoctorOptions& options) {
  Findings node_findings, program_findings;
  if (Result<Node> node = load_node(options.config)) {
    check_node(*node, node_findings);
  } else {
    node_findings.fail("configuration", node.error().context, node.error().hint);
  }
  const bool shim_loads = check_shim(node_findings);
  check_environment(node_findings);

  ProgramVerdict verdict;
  if (!options.program.empty()) verdict = check_program(options.program, program_findings);
  verdict.reached = verdict.reached && shim_loads;

  if (options.json) {
    nlohmann::ordered_json json = {{"node", node_findings.json()}};
    if (!options.program.empty()) {
      json["program"] = {{"name", options.program},
                         {"path", verdict.path},
                         {"reached", verdict.reached},
                         {"mpi", verdict.mpi},
                         {"findings", program_findings.json()}};
    }
    print_json(json);
  } else {
    node_findings.print();
    print_line("node: {}", summary(node_findings));
    if (!options.program.empty()) {
      fmt::print("\n");
      program_findings.print();
      print_line("{}: {}", printable(options.program), in_words(verdict, node_findings));
    }
  }
  return node_findings.failures() + program_findings.failures() > 0 ? kUnhealthy : kDone;
}

}  // namespace zazen
