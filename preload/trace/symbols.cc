// Names calls by function, file and line, with libdw: from the debug information in the
// modules themselves or, by build id, in /usr/lib/debug. Never from the network: the program
// is about to end and should not wait for a server.
#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/trace/stack_walk.h"

namespace zazen::trace {
namespace {

template <std::size_t size>
void copy_text(char (&out)[size], const char* text) {
  std::snprintf(out, size, "%s", text);
}

void copy_function(SourceLine& out, const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  copy_text(out.function, status == 0 && plain != nullptr ? plain : name);
  std::free(plain);
}

// The innermost function, be it one that was inlined.
bool function_by_scope(Dwfl_Module* module, Dwarf_Addr address, SourceLine& out) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  Dwarf_Die* scopes = nullptr;
  int count = unit == nullptr ? 0 : dwarf_getscopes(unit, address - bias, &scopes);
  bool found = false;
  for (int i = 0; i < count && !found; ++i) {
    int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
    Dwarf_Attribute attribute;
    const char* name =
        dwarf_formstring(dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute));
    if (name == nullptr) name = dwarf_diename(&scopes[i]);
    if (name == nullptr) break;
    copy_function(out, name);
    found = true;
  }
  std::free(scopes);
  return found;
}

// A symbol counts only if the address lies within its size: in a stripped program the nearest
// one would be some other function.
void function_by_symbol(Dwfl_Module* module, Dwarf_Addr address, SourceLine& out) {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name =
      dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name != nullptr && offset < symbol.st_size) copy_function(out, name);
}

void describe_call(Dwfl* modules, Dwarf_Addr address, SourceLine& out) {
  Dwfl_Module* module = dwfl_addrmodule(modules, address);
  if (module == nullptr) return;
  if (!function_by_scope(module, address, out)) function_by_symbol(module, address, out);
  Dwfl_Line* line = dwfl_module_getsrc(module, address);
  int number = 0;
  const char* file = line == nullptr
                         ? nullptr
                         : dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (file == nullptr || number <= 0) return;
  const char* slash = std::strrchr(file, '/');
  copy_text(out.file, slash == nullptr ? file : slash + 1);
  out.line = number;
}

}  // namespace

void describe_calls(const std::uintptr_t* return_addresses, std::size_t count,
                    SourceLine* lines) {
  Dwfl_Callbacks callbacks = {};
  callbacks.find_elf = dwfl_linux_proc_find_elf;
  callbacks.find_debuginfo = dwfl_build_id_find_debuginfo;
  Dwfl* modules = dwfl_begin(&callbacks);
  if (modules == nullptr) return;
  if (dwfl_linux_proc_report(modules, getpid()) == 0 &&
      dwfl_report_end(modules, nullptr, nullptr) == 0) {
    // One before the return address lies the call itself.
    for (std::size_t i = 0; i < count; ++i)
      describe_call(modules, return_addresses[i] - 1, lines[i]);
  }
  dwfl_end(modules);
}

}  // namespace zazen::trace
