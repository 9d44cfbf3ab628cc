// Names calls by function, file and line, with libdw: from the debug information in the modules
// themselves or, by build id, in /usr/lib/debug. Never from the network: the program is about
// to end and should not wait for a server.
#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "preload/trace/stack_walk.h"

namespace zazen::trace {
namespace {

template <std::size_t size>
void copy_text(char (&out)[size], const char* text) {
  std::snprintf(out, size, "%s", text);
}

// Only names with this prefix are C++'s: the demangler would read a function `a` as a signed
// char.
void copy_function(SourceLine& out, const char* name) {
  bool mangled = std::strncmp(name, "_Z", 2) == 0;
  char* plain = mangled ? abi::__cxa_demangle(name, nullptr, nullptr, nullptr) : nullptr;
  copy_text(out.function, plain != nullptr ? plain : name);
  std::free(plain);
}

void copy_line(SourceLine& out, const char* file, int line) {
  if (file == nullptr || line <= 0) return;
  const char* slash = std::strrchr(file, '/');
  copy_text(out.file, slash == nullptr ? file : slash + 1);
  out.line = line;
}

bool is_function(Dwarf_Die* scope) {
  int tag = dwarf_tag(scope);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

const char* name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  const char* name =
      dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
  return name != nullptr ? name : dwarf_diename(function);
}

Dwarf_Word number_of(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &number);
  return number;
}

// The system's headers hold inline functions (getline, the fortified read, those of C++
// streams). A user does not look there for the program's line.
bool is_system_header(const char* file) {
  for (const char* directory : {"/usr/include/", "/usr/lib/gcc/"}) {
    if (std::strncmp(file, directory, std::strlen(directory)) == 0) return true;
  }
  return false;
}

// Goes outwards from the innermost function, which may be inlined, to the first one outside of
// the system's headers. `file` and `line` are those of the address itself.
bool describe_by_scopes(Dwarf_Die* unit, Dwarf_Addr address, const char* file, int line,
                        SourceLine& out) {
  Dwarf_Die *around = nullptr, *scopes = nullptr;
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(unit, &files, nullptr);
  int count = dwarf_getscopes(unit, address, &around), innermost = 0;
  while (innermost < count && !is_function(&around[innermost])) ++innermost;
  count = innermost < count ? dwarf_getscopes_die(&around[innermost], &scopes) : 0;
  bool found = false;
  for (int i = 0; i < count && !found; ++i) {
    if (!is_function(&scopes[i])) continue;
    if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine && file != nullptr &&
        is_system_header(file)) {
      file = dwarf_filesrc(files, number_of(&scopes[i], DW_AT_call_file), nullptr, nullptr);
      line = static_cast<int>(number_of(&scopes[i], DW_AT_call_line));
      continue;
    }
    const char* name = name_of(&scopes[i]);
    if (name == nullptr) break;
    copy_function(out, name);
    copy_line(out, file, line);
    found = true;
  }
  std::free(around);
  std::free(scopes);
  return found;
}

void describe_call(Dwfl* modules, Dwarf_Addr address, SourceLine& out) {
  Dwfl_Module* module = dwfl_addrmodule(modules, address);
  if (module == nullptr) return;
  Dwfl_Line* place = dwfl_module_getsrc(module, address);
  int line = 0;
  const char* file = place == nullptr
                         ? nullptr
                         : dwfl_lineinfo(place, nullptr, &line, nullptr, nullptr, nullptr);
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  if (unit != nullptr && describe_by_scopes(unit, address - bias, file, line, out)) return;
  const char* symbol = dwfl_module_addrname(module, address);
  if (symbol != nullptr) copy_function(out, symbol);
  copy_line(out, file, line);
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
    // The byte before the return address belongs to the call itself.
    for (std::size_t i = 0; i < count; ++i)
      describe_call(modules, return_addresses[i] - 1, lines[i]);
  }
  dwfl_end(modules);
}

}  // namespace zazen::trace
