// The examination of a node: its directories, its daemon, its disk, its datasets, its clock.
#pragma once
#include "tools/doctor/findings.h"
#include "tools/support/node.h"

namespace zazen {

void check_node(const Node& node, Findings& findings);

}  // namespace zazen
