// What the plug-in's audit must know of the C API (coord/zazen.h).
#pragma once

namespace zazen {

// The program asked which frames to read, so it need not read those of its view.
bool program_asked();
// The shim's, to be told so (coord/plugin.h).
void set_watch(void (*watch_reading)(bool does));

}  // namespace zazen
