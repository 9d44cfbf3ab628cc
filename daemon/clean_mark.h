// CleanMark: <cache>/.zazen/clean says that the last daemon stopped cleanly, with everything
// flushed. It is taken away, durably, before the next one serves: so a daemon that was killed,
// or a machine that lost power, leaves none.
#pragma once

namespace zazen {

// Was it there? Then it is gone by now.
bool take_clean_mark(int state_fd);
// 0 or an errno.
int leave_clean_mark(int state_fd);

}  // namespace zazen
