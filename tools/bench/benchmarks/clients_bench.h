// `zazen-bench clients`: what a hostile client costs the others. A well-behaved client makes
// its requests alone, beside processes that only spin (the control: what any work on this
// machine costs), and beside as many that attack, by turns; first with all of them equal, then
// with a client and a daemon that need not wait for a CPU. A ratio is that of two turns of one
// round. Where root runs it, the attackers are another user's; otherwise all are one user's.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct ClientsBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 5;
  int requests = 500;  // of each kind in a turn
};

struct ClientFigures {  // of one kind of request during one attack
  std::string attack, wakes, request;
  double calm_p50_ms = 0, calm_p99_ms = 0;  // medians of the turns', as the next ones
  double control_p99_ms = 0;
  double attacked_p50_ms = 0, attacked_p99_ms = 0;
  double p99_to_calm = 0, p99_to_control = 0;  // medians of the rounds'
};

Result<std::vector<ClientFigures>> measure_clients(const ClientsBenchOptions& options);

void print_client_figures(const std::vector<ClientFigures>& figures, bool as_json);

// A process of its own: attacks once a line has come, answers when the attack is under way, and
// goes on until it is ended. Its exit status.
int clients_attacker(const std::string& attack, const std::string& runtime);

}  // namespace zazen
