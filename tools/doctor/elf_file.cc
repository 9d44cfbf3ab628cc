#include "tools/doctor/elf_file.h"

#include <elf.h>
#include <fmt/core.h>

#include <optional>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::size_t kMaxString = 4096;
constexpr std::size_t kMaxProgramHeaders = 4096;
constexpr std::size_t kMaxSections = 100'000;
constexpr std::size_t kMaxDynamicBytes = 4 << 20;

Error damaged(const char* where) {
  return Error{EBADMSG, std::string("a damaged ELF file: ") + where, {}};
}

class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}

  bool read(std::uint64_t offset, void* out, std::size_t size) const {
    if (offset > INT64_MAX - size) return false;
    long got = raw_read_at(fd_, static_cast<char*>(out), size, static_cast<off_t>(offset));
    return got == static_cast<long>(size);
  }
  template <class T>
  bool read_array(std::uint64_t offset, std::size_t count, std::vector<T>* out) const {
    out->resize(count);
    return read(offset, out->data(), count * sizeof(T));
  }
  // A string up to its NUL, which must come within `limit` bytes.
  std::optional<std::string> read_string(std::uint64_t offset, std::uint64_t limit) const {
    char buffer[kMaxString];
    std::size_t room = limit < sizeof buffer ? static_cast<std::size_t>(limit) : sizeof buffer;
    if (offset > INT64_MAX - room) return std::nullopt;
    long got = raw_read_at(fd_, buffer, room, static_cast<off_t>(offset));
    if (got <= 0) return std::nullopt;
    std::size_t length = strnlen(buffer, static_cast<std::size_t>(got));
    if (length == static_cast<std::size_t>(got)) return std::nullopt;
    return std::string(buffer, length);
  }

 private:
  int fd_;
};

// The offset of a virtual address in the file.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& headers,
                                         std::uint64_t address) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && address >= header.p_vaddr &&
        address - header.p_vaddr < header.p_filesz) {
      std::uint64_t offset;
      if (__builtin_add_overflow(address - header.p_vaddr, header.p_offset, &offset)) break;
      return offset;
    }
  }
  return std::nullopt;
}

Status read_dynamic(const Reader& reader, const std::vector<Elf64_Phdr>& headers,
                    const Elf64_Phdr& segment, ElfFile* file) {
  if (segment.p_filesz > kMaxDynamicBytes) return damaged("its dynamic section");
  std::vector<Elf64_Dyn> entries;
  if (!reader.read_array(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn), &entries)) {
    return damaged("its dynamic section");
  }
  std::uint64_t strings = 0, strings_size = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
    if (entry.d_tag == DT_FLAGS_1) file->is_pie = (entry.d_un.d_val & DF_1_PIE) != 0;
  }
  std::optional<std::uint64_t> table = file_offset(headers, strings);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) {
      continue;
    }
    std::uint64_t at = entry.d_un.d_val;
    if (!table || at >= strings_size || *table > UINT64_MAX - at) {
      return damaged("its string table");
    }
    std::optional<std::string> text = reader.read_string(*table + at, strings_size - at);
    if (!text) return damaged("its string table");
    if (entry.d_tag == DT_NEEDED) file->needed.push_back(*text);
    if (entry.d_tag == DT_RPATH) file->rpath = *text;
    if (entry.d_tag == DT_RUNPATH) file->runpath = *text;
  }
  return Done{};
}

Status read_segments(const Reader& reader, const Elf64_Ehdr& head, ElfFile* file) {
  if (head.e_phnum == 0) return Done{};
  if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > kMaxProgramHeaders) {
    return damaged("its program headers");
  }
  std::vector<Elf64_Phdr> headers;
  if (!reader.read_array(head.e_phoff, head.e_phnum, &headers)) {
    return damaged("its program headers");
  }
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_INTERP) {
      std::optional<std::string> text = reader.read_string(header.p_offset, header.p_filesz);
      if (!text) return damaged("the name of its loader");
      file->interpreter = *text;
    } else if (header.p_type == PT_DYNAMIC) {
      file->is_dynamic = true;
      if (Status read = read_dynamic(reader, headers, header, file); !read) return read;
    }
  }
  return Done{};
}

// Programs run without section headers, so an error in them is no damage.
bool has_go_section(const Reader& reader, const Elf64_Ehdr& head) {
  if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum > kMaxSections) return false;
  std::vector<Elf64_Shdr> sections;
  if (head.e_shstrndx >= head.e_shnum ||
      !reader.read_array(head.e_shoff, head.e_shnum, &sections)) {
    return false;
  }
  const Elf64_Shdr& names = sections[head.e_shstrndx];
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.sh_size || names.sh_offset > UINT64_MAX - section.sh_name) {
      continue;
    }
    std::optional<std::string> name =
        reader.read_string(names.sh_offset + section.sh_name, names.sh_size - section.sh_name);
    if (name == ".go.buildinfo" || name == ".gopclntab") return true;
  }
  return false;
}

}  // namespace

Result<ElfFile> read_elf(int fd) {
  Reader reader(fd);
  unsigned char ident[EI_NIDENT];
  Elf64_Ehdr head;
  if (!reader.read(0, ident, SELFMAG) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return Error{ENOEXEC, "not an ELF file", {}};
  }
  // The two classes agree up to e_version.
  if (!reader.read(0, &head, offsetof(Elf64_Ehdr, e_entry))) return damaged("its head");
  std::memcpy(ident, head.e_ident, sizeof ident);
  ElfFile file;
  file.is_64bit = ident[EI_CLASS] == ELFCLASS64;
  file.is_little_endian = ident[EI_DATA] == ELFDATA2LSB;
  bool known_class = file.is_64bit || ident[EI_CLASS] == ELFCLASS32;
  bool known_order = file.is_little_endian || ident[EI_DATA] == ELFDATA2MSB;
  if (!known_class || !known_order) return damaged("its head");
  auto in_order = [&](std::uint16_t value) {
    return file.is_little_endian ? value : __builtin_bswap16(value);
  };
  file.machine = in_order(head.e_machine);
  file.type = in_order(head.e_type);
  if (!file.is_native()) return file;

  if (!reader.read(0, &head, sizeof head)) return damaged("its head");
  if (Status read = read_segments(reader, head, &file); !read) return read.error();
  file.is_go = has_go_section(reader, head);
  return file;
}

Result<ElfFile> read_elf(const std::string& path) {
  int result = raw_open(path.c_str(), O_RDONLY | O_NONBLOCK);
  RawFd fd(result);
  if (!fd.valid()) return Error{-result, path, {}};
  return read_elf(fd.get());
}

std::string machine_name(const ElfFile& file) {
  static constexpr struct {
    std::uint16_t machine;
    const char* name;
  } kNames[] = {{EM_X86_64, "x86-64"}, {EM_386, "x86"},     {EM_AARCH64, "aarch64"},
                {EM_ARM, "arm"},       {EM_PPC64, "ppc64"}, {EM_RISCV, "riscv"},
                {EM_S390, "s390"}};
  std::string name = fmt::format("machine {}", file.machine);
  for (const auto& known : kNames) {
    if (known.machine == file.machine) name = known.name;
  }
  return fmt::format("{}-bit {}{}", file.is_64bit ? 64 : 32, name,
                     file.is_little_endian ? "" : ", big-endian");
}

}  // namespace zazen
