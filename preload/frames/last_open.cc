// zazen_last_open(): the result of the calling thread's last open of a frame, returned once: 0
// none, 1 a hit, 2 a miss. For the tracing plug-in (trace/), which sees descriptors and not
// routes.
#include "preload/calls/hook.h"
#include "preload/frames/account.h"

ZAZEN_HOOK int zazen_last_open() {
  int answer = zazen::last_open;
  zazen::last_open = 0;
  return answer;
}
