// What the plug-in's audit must know of the C API (coord/zazen.h).
#pragma once
#include "bodhi/lean/frames/view.h"

namespace zazen {

// The program asked which frames to read, so it need not read those of its view.
bool program_asked();
// The shim's, to be told so (coord/plugin.h).
using WatchReading = void(bool does, const View* rank_0, const Tally* of_rank_0);
void set_watch(WatchReading* watch_reading);

}  // namespace zazen
