// The examination of a node: its directories, its daemon, its disk, its datasets, its clock.
#pragma once
#include "tools/findings.h"
#include "tools/node.h"

namespace zazen {

void check_node(const Node& node, Findings& findings);

}  // namespace zazen
