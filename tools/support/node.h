// The node of a command: its configuration, and a connection to its daemon.
//
// With --config the file says where the daemon is. Without it ZAZEN_RUNTIME, if set, takes
// precedence over the file's runtime directory, as it does for the shim.
#pragma once
#include <optional>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"
#include "bodhi/node/client.h"

namespace zazen {

struct Node {
  Config config;
  std::string runtime;
};

// The error's context is the whole message.
Result<Node> load_node(const std::optional<std::string>& config);
// The datasets that the daemon there serves, by its table. Nothing if no daemon serves there.
// For a configuration that has an error: the daemon keeps the one of before.
std::optional<Node> node_of_daemon(const std::string& config_file, const std::string& runtime);
// Prints the reason and ends the program with exit_status if there is no usable file.
Node load_node_or_exit(const std::optional<std::string>& config, int exit_status);

// For a command that needs the daemon only. If the file has an error, the node is its plain
// line `runtime`, and nothing else. Ends the program (exit status 2) if there is none.
Node find_node_or_exit(const std::optional<std::string>& config);

// Why no daemon answers there, and the next command. config_file may be "FILE".
struct Silence {
  std::string reason;
  std::string hint;
};
Silence silence_of(const std::string& runtime, int code, const std::string& config_file);
// Prints the reason and ends the program (exit status 3) if no daemon answers. The time limit
// is that of each request.
Client connect_or_exit(const Node& node, int timeout_ms = 5'000);

// Prints why a request failed and returns the exit status: 3 if the daemon stopped answering.
int request_failed(const Node& node, const std::string& subject, const Error& error);

// True for errors that mean "no answer" rather than "no".
bool is_silence(const Error& error);

}  // namespace zazen
