// The start of a job: the ranks agree on who reads which frame, and each gets its view.
//
// Collective over all ranks of the program: all are filtered, or none (D13), and no
// collective is left waiting (coord/ranks/job_ranks.h).
//
// A rank asks the origin for one stat of each dataset, rank 0 also for a listing if no node has
// a current one (D20). A rank reads the listing that its own node keeps; it is sent only if
// some node has none, or another one. Copies are compared with the origin when a dataset is
// first used (D10): a job may leave most of its datasets alone.
#pragma once
#include <string>
#include <vector>

#include "bodhi/node/listing.h"
#include "coord/plugin.h"
#include "coord/ranks/communicator.h"
#include "coord/sets/domain.h"
#include "coord/settings.h"

namespace zazen {

struct RankPlace {   // what every rank knows of each
  std::string node;  // "" if the rank has no daemon
  bool has_ledger = false;
  std::uint64_t run = 0;  // the number of its RunRecord; 0: it has none
};

struct AgreedDataset {
  std::string path;
  std::string frames;  // the template
  DirectoryIdentity directory;
  std::uint64_t domain_count = 0;
  std::uint64_t adopted = 0;           // residues; known to the node leaders, rank 0 among them
  Selection selection = {};            // of the frames that the directory had
  AuditMode audit = AuditMode::kFail;  // of frames that no rank reads
};

struct LeftOut {  // a dataset that should be divided and cannot be
  std::string path;
  std::string why;
  FilterMode filter = FilterMode::kOn;
};

struct Phase {
  const char* name;
  double seconds;
};

struct Agreement {
  bool filtered = false;
  std::string reason;                      // why not
  FilterMode expected = FilterMode::kOff;  // the most that a rank expects of the job (D24)
  std::string expected_paths;              // of which datasets, as people read it
  int speaker = 0;                         // the rank that says it if the job is not divided
  long launched = 1;                       // processes, if each is alone in its MPI_COMM_WORLD
  std::vector<LeftOut> left_out;
  int rank = 0;
  int ranks = 1;
  std::uint64_t job = 0;  // its number; 0 if the ranks could not talk
  int nodes = 0;
  std::vector<RankPlace> places;  // by rank; empty if the ranks could not talk
  std::vector<AgreedDataset> datasets;
  std::vector<Phase> phases;   // where the time went
  double listing_seconds = 0;  // among these: reading directories, sharing and keeping that
  std::string view_directory;
  const View* view = nullptr;  // the shim's, mapped until the process ends
  Tally* tally = nullptr;
};

Agreement agree_on_views(Communicator& world, const PluginHost& host, const Settings& settings);

}  // namespace zazen
