// DaemonProcess: the zazend that serves a runtime directory, as a process of this machine. The
// kernel says which process listens on the socket; a daemon that is ending has closed it, and
// is known by its lock on the table.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

class DaemonProcess {
 public:
  // Nothing if none runs.
  static Result<std::optional<DaemonProcess>> find(const std::string& runtime);

  pid_t pid() const { return pid_; }
  // "zazend.service" if systemd started it, else "".
  std::string unit() const;
  // The systemctl command that does this with the unit: "systemctl --user stop zazend".
  std::string systemctl(const std::string& verb) const;
  // Tells it to end. 0 or an errno.
  int terminate() const;
  // False: it has not ended within the limit.
  bool wait_for_end(std::chrono::milliseconds limit) const;

 private:
  DaemonProcess(pid_t pid, UniqueFd descriptor)
      : pid_(pid), descriptor_(std::move(descriptor)) {}
  pid_t pid_;
  UniqueFd descriptor_;
};

// The command that starts an enabled systemd unit with this configuration file; "" if there is
// no such unit.
std::string enabled_unit_command(const std::string& config_file);

}  // namespace zazen
