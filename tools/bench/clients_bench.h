// `zazen-bench clients`: what a hostile client costs the others. Each attack runs in processes
// of its own; a well-behaved client makes its requests with and without it, by turns. A ratio
// is that of two neighbouring turns.
#pragma once
#include <string>
#include <vector>

#include "bodhi/result.h"

namespace zazen {

struct ClientsBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 5;
  int requests = 500;  // of each kind in a turn
};

struct ClientFigures {  // of one kind of request during one attack
  std::string attack, request;
  double calm_p50_ms = 0, calm_p99_ms = 0;          // medians of the turns'
  double attacked_p50_ms = 0, attacked_p99_ms = 0;  // the same
  double p99_ratio = 0;                             // the median of the pairs'
};

Result<std::vector<ClientFigures>> measure_clients(const ClientsBenchOptions& options);

void print_client_figures(const std::vector<ClientFigures>& figures, bool as_json);

// A process of its own: attacks once a line has come, answers when the attack is under way, and
// goes on until it is ended. Its exit status.
int clients_attacker(const std::string& attack, const std::string& runtime);

}  // namespace zazen
