// Tells systemd (Type=notify) the daemon's state by a datagram to $NOTIFY_SOCKET. Without that
// variable it does nothing.
#pragma once

namespace zazen {

void notify_service_manager(const char* state);  // "READY=1", "STOPPING=1"
// A reload has begun; "READY=1" ends it.
void notify_reloading();
// The daemon serves ("WATCHDOG=1"), if systemd asks for such signs (WatchdogSec=). Never waits.
void notify_serving();

}  // namespace zazen
