// The start of a job: the ranks agree on who reads which frame, and each gets its view.
//
// Collective over all ranks of the program. Local steps (files, memory) can fail on one rank
// alone; they are caught and noted, the rank goes on to the next vote, and there all ranks
// give up together: all are filtered, or none (D13). No collective is left waiting.
//
// The origin is asked by rank 0 only: one stat for each dataset, and one listing if no node
// has a current one (D20).
#pragma once
#include <string>
#include <vector>

#include "bodhi/listing.h"
#include "coord/communicator.h"
#include "coord/plugin.h"
#include "coord/settings.h"

namespace zazen {

struct RankPlace {   // what every rank knows of each
  std::string node;  // "" if the rank has no daemon
  bool has_ledger = false;
};

struct AgreedDataset {
  std::string path;
  std::string frames;  // the template
  DirectoryIdentity directory;
  std::uint64_t domain_count = 0;
  std::uint64_t adopted = 0;  // residues; known to the node leaders, rank 0 among them
};

struct Agreement {
  bool filtered = false;
  std::string reason;              // why not
  std::vector<std::string> notes;  // datasets that were left out, and why
  int rank = 0;
  int ranks = 1;
  int nodes = 0;
  std::vector<RankPlace> places;  // by rank; empty if the ranks could not talk
  std::vector<AgreedDataset> datasets;
  std::string view_directory;
  const View* view = nullptr;  // mapped until the process ends
  Tally* tally = nullptr;
};

Agreement agree_on_views(Communicator& world, const PluginHost& host, const Settings& settings);

}  // namespace zazen
