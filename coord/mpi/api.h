// The functions of the C API (coord/zazen.h) that the plug-in's audit needs.
#pragma once
#include "bodhi/lean/frames/view.h"

namespace zazen {

// The program has called zazen(), so it need not read the frames of its view.
bool program_asked();
// The shim's function that must be told of this (coord/plugin.h).
using WatchReading = void(bool does, const View* rank_0, const Tally* of_rank_0);
void set_watch(WatchReading* watch_reading);

}  // namespace zazen
