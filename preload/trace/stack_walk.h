// The two halves of libzazen-callsites.so; see callsites.h.
#pragma once
#include "preload/trace/callsites.h"

namespace zazen::trace {

void walk_stack(Visitor visit, void* context);
void describe_calls(const std::uintptr_t* return_addresses, std::size_t count,
                    SourceLine* lines);

}  // namespace zazen::trace
