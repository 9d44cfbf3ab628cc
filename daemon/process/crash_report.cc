// The handler uses system calls, libunwind's local unwinding, and memory that was allocated
// earlier. The start notes the modules, because dladdr takes a lock. No module is loaded later.
#define UNW_LOCAL_ONLY
#include "daemon/process/crash_report.h"

#include <libunwind.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "daemon/process/log.h"

namespace zazen {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kDeepest = 64;
constexpr unsigned kLongestSeconds = 10;
constexpr std::size_t kCrashStackBytes = 256 * 1024;

struct Module {
  std::uintptr_t base, first, end;
  char path[256];
};
Module modules[64];
std::size_t module_count = 0;
std::atomic<pid_t> reporting_thread = 0;

int note_module(dl_phdr_info* info, std::size_t, void*) {
  if (module_count == std::size(modules)) return 1;
  Module& module = modules[module_count];
  module.base = info->dlpi_addr;
  module.first = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    std::uintptr_t start = info->dlpi_addr + part.p_vaddr;
    if (start < module.first) module.first = start;
    if (start + part.p_memsz > module.end) module.end = start + part.p_memsz;
  }
  const char* path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "zazend";
  std::strncpy(module.path, path, sizeof module.path - 1);
  ++module_count;
  return 0;
}

// One line of the log, made without the heap.
class Line {
 public:
  explicit Line(const char* event) {
    add(LineBeginning(LogLevel::kError).text);
    add("zazend level=error event=");
    add(event);
  }
  void add(const char* text) {
    while (*text != '\0' && size_ < sizeof text_ - 1) text_[size_++] = *text++;
  }
  void field(const char* key, const char* value) {
    add(" ");
    add(key);
    add("=");
    add(value);
  }
  void field(const char* key, std::uint64_t value, unsigned base = 10) {
    field(key, base == 16 ? "0x" : "");
    number(value, base);
  }
  void number(std::uint64_t value, unsigned base) {
    char digits[24];
    std::size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    add(digits + at);
  }
  void write() {
    text_[size_++] = '\n';
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text_, size_);
  }

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

const char* signal_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

// Takes the thread's name from the kernel and removes characters that could forge a line.
void add_thread(Line* line) {
  char name[17] = {};
  ::prctl(PR_GET_NAME, name);
  for (char* c = name; *c != '\0'; ++c) {
    if (*c <= ' ' || *c == '=' || *c == '"' || *c == 0x7f) *c = '_';
  }
  line->field("tid", static_cast<std::uint64_t>(::syscall(SYS_gettid)));
  line->field("thread", name);
}

void write_frame(int depth, unw_cursor_t* cursor) {
  unw_word_t address = 0, offset = 0;
  if (unw_get_reg(cursor, UNW_REG_IP, &address) != 0) return;
  Line line("crash_frame");
  line.field("depth", static_cast<std::uint64_t>(depth));
  line.field("address", address, 16);
  char name[512] = {};
  int got = unw_get_proc_name(cursor, name, sizeof name, &offset);
  if (got == 0 || got == -UNW_ENOMEM) {
    line.field("function", name);
    line.add("+0x");
    line.number(offset, 16);
  }
  for (std::size_t i = 0; i < module_count; ++i) {
    if (address < modules[i].first || address >= modules[i].end) continue;
    line.field("module", modules[i].path);
    line.add("+0x");
    line.number(address - modules[i].base, 16);
    break;
  }
  line.write();
}

void write_stack(void* context) {
  unw_cursor_t cursor;
  if (unw_init_local2(&cursor, static_cast<unw_context_t*>(context), UNW_INIT_SIGNAL_FRAME) !=
      0) {
    return;
  }
  for (int depth = 0; depth < kDeepest; ++depth) {
    write_frame(depth, &cursor);
    if (unw_step(&cursor) <= 0) break;
  }
}

void report(int signal, siginfo_t* info, void* context) {
  pid_t thread = static_cast<pid_t>(::syscall(SYS_gettid));
  pid_t nobody = 0;
  if (reporting_thread.compare_exchange_strong(nobody, thread)) {
    ::alarm(kLongestSeconds);  // the crash may hold a lock of the loader
    Line line("crash");
    line.field("version", ZAZEN_VERSION);
    line.field("signal", signal_name(signal));
    if (info->si_code <= 0) {
      line.field("sent_by_pid", static_cast<std::uint64_t>(info->si_pid));
    } else {
      line.field("address", reinterpret_cast<std::uintptr_t>(info->si_addr), 16);
    }
    add_thread(&line);
    line.write();
    write_stack(context);
    Line("crash_end").write();
  } else if (nobody != thread) {
    for (;;) ::pause();  // the report of the first thread ends the process
  }
  // The signal is blocked until this handler returns. Then it ends the process.
  struct sigaction ends = {};
  ends.sa_handler = SIG_DFL;
  ::sigaction(signal, &ends, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), thread, signal);
}

[[noreturn]] void terminate() {
  if (std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      log_line(LogLevel::kError, "uncaught_exception", {{"what", error.what()}});
    } catch (...) {
      log_line(LogLevel::kError, "uncaught_exception");
    }
  }
  std::abort();
}

}  // namespace

CrashStack::CrashStack()
    : memory_(::mmap(nullptr, kCrashStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  stack_t stack = {.ss_sp = memory_, .ss_flags = 0, .ss_size = kCrashStackBytes};
  if (memory_ != MAP_FAILED) ::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  if (memory_ == MAP_FAILED) return;
  stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, kCrashStackBytes);
}

void install_crash_report() {
  static CrashStack stack;
  ::dl_iterate_phdr(note_module, nullptr);
  // The first walk sets libunwind up, which the handler must not do.
  unw_context_t here;
  unw_cursor_t cursor;
  char name[16];
  unw_word_t offset;
  if (unw_getcontext(&here) == 0 && unw_init_local(&cursor, &here) == 0) {
    unw_get_proc_name(&cursor, name, sizeof name, &offset);
    unw_step(&cursor);
  }
  struct sigaction action = {};
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : kSignals) ::sigaction(signal, &action, nullptr);
  std::set_terminate(terminate);
}

}  // namespace zazen
