// A small ELF file is built byte by byte, read, and then damaged in every place. The reader
// must neither crash nor read past the end of the file.
#include "tools/doctor/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

namespace zazen {
namespace {

class Image {  // a file in memory, behind a real descriptor
 public:
  explicit Image(const std::string& bytes) : fd_(::memfd_create("elf", MFD_CLOEXEC)) {
    EXPECT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  ~Image() { ::close(fd_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  void truncate(std::size_t size) { EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(size)), 0); }
  void put(std::size_t at, char byte) {
    EXPECT_EQ(::pwrite(fd_, &byte, 1, static_cast<off_t>(at)), 1);
  }
  Result<ElfFile> read() const { return read_elf(fd_); }

 private:
  int fd_;
};

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr std::uint64_t kBase = 0x400000;

Elf64_Phdr segment(std::uint32_t type, std::size_t offset, std::size_t size) {
  Elf64_Phdr header = {};
  header.p_type = type;
  header.p_offset = offset;
  header.p_vaddr = kBase + offset;
  header.p_filesz = header.p_memsz = size;
  return header;
}

// Head, three segments, the loader's name, strings, the dynamic section, sections.
std::string small_program(bool is_go = false) {
  const std::string loader("/lib64/ld-linux-x86-64.so.2\0", 28);
  const std::string strings("\0libmpi.so.40\0libc.so.6\0$ORIGIN/../lib\0", 39);
  const std::string names = std::string("\0.shstrtab\0", 11) +
                            std::string(is_go ? ".go.buildinfo" : ".notinterest.") + '\0';
  const Elf64_Dyn dynamic[] = {{DT_NEEDED, {1}},
                               {DT_NEEDED, {14}},
                               {DT_RUNPATH, {24}},
                               {DT_FLAGS_1, {DF_1_PIE}},
                               {DT_STRTAB, {kBase + 64 + 3 * sizeof(Elf64_Phdr) + 28}},
                               {DT_STRSZ, {strings.size()}},
                               {DT_NULL, {0}}};
  const std::size_t loader_at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
  const std::size_t strings_at = loader_at + loader.size();
  const std::size_t dynamic_at = strings_at + strings.size();
  const std::size_t names_at = dynamic_at + sizeof dynamic;
  const std::size_t sections_at = names_at + names.size();

  Elf64_Ehdr head = {};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_type = ET_DYN;
  head.e_machine = EM_X86_64;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 3;
  head.e_shoff = sections_at;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 2;
  head.e_shstrndx = 0;

  Elf64_Shdr table = {}, other = {};
  table.sh_name = 1;
  table.sh_offset = names_at;
  table.sh_size = names.size();
  other.sh_name = 11;

  std::string bytes;
  append(bytes, head);
  append(bytes, segment(PT_LOAD, 0, names_at));
  append(bytes, segment(PT_INTERP, loader_at, loader.size()));
  append(bytes, segment(PT_DYNAMIC, dynamic_at, sizeof dynamic));
  bytes += loader + strings;
  append(bytes, dynamic);
  bytes += names;
  append(bytes, table);
  append(bytes, other);
  return bytes;
}

TEST(ElfFile, ReadsWhatDecides) {
  Result<ElfFile> file = Image(small_program()).read();
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_EQ(file->interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(file->needed, (std::vector<std::string>{"libmpi.so.40", "libc.so.6"}));
  EXPECT_EQ(file->runpath, "$ORIGIN/../lib");
  EXPECT_TRUE(file->is_pie && file->is_dynamic && !file->is_go);
  EXPECT_EQ(machine_name(*file), "64-bit x86-64");
  EXPECT_TRUE(Image(small_program(true)).read()->is_go);
}

TEST(ElfFile, ReadsItself) {
  Result<ElfFile> file = read_elf("/proc/self/exe");
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_FALSE(file->interpreter.empty());
  EXPECT_NE(std::find(file->needed.begin(), file->needed.end(), "libc.so.6"),
            file->needed.end());
}

TEST(ElfFile, OfOtherMachinesOnlyTheHeadIsRead) {
  std::string bytes = small_program().substr(0, 24);
  bytes[EI_CLASS] = ELFCLASS32;
  bytes[18] = EM_386;
  EXPECT_EQ(machine_name(*Image(bytes).read()), "32-bit x86");
  bytes[EI_CLASS] = ELFCLASS64;
  bytes[EI_DATA] = ELFDATA2MSB;
  bytes[18] = 0;
  bytes[19] = EM_PPC64;
  EXPECT_EQ(machine_name(*Image(bytes).read()), "64-bit ppc64, big-endian");
}

TEST(ElfFile, WhatIsNoElfFileIsSaidSo) {
  for (const char* text : {"", "#", "#!/bin/sh\n",
                           "\x7f"
                           "EL"}) {
    Result<ElfFile> file = Image(text).read();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ENOEXEC) << text;
  }
  EXPECT_EQ(read_elf("/nowhere").error().code, ENOENT);
}

TEST(ElfFile, TruncatedAnywhere) {
  std::string bytes = small_program(true);
  Result<ElfFile> whole = Image(bytes).read();
  Image image(bytes);
  std::size_t sections_at = bytes.size() - 2 * sizeof(Elf64_Shdr);
  for (std::size_t size = bytes.size(); size-- > 0;) {
    image.truncate(size);
    Result<ElfFile> file = image.read();
    if (size < SELFMAG) {
      EXPECT_EQ(file.error().code, ENOEXEC) << size;
    } else if (size < sections_at - 25) {  // into the dynamic section, or before it
      ASSERT_FALSE(file) << size;
      EXPECT_EQ(file.error().code, EBADMSG) << size;
    } else {  // programs run without section headers
      ASSERT_TRUE(file) << size;
      EXPECT_EQ(file->needed, whole->needed);
      EXPECT_FALSE(file->is_go) << size;
    }
  }
}

TEST(ElfFile, NamesOutsideTheStringsAreRefused) {
  std::string whole = small_program();
  Elf64_Dyn first = {DT_NEEDED, {1}};
  std::string pattern;
  append(pattern, first);
  std::size_t at = whole.find(pattern);
  for (std::uint64_t name :
       {std::uint64_t{39}, std::uint64_t{60}, std::uint64_t{1} << 40, ~0ul}) {
    first.d_un.d_val = name;
    std::string entry;
    append(entry, first);
    Result<ElfFile> file = Image(std::string(whole).replace(at, entry.size(), entry)).read();
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, EBADMSG);
  }
}

TEST(ElfFile, EveryByteOfEveryValue) {
  std::string bytes = small_program(true);
  Image image(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int value : {0, 1, 0x7f, 0x80, 0xfe, 0xff}) {
      image.put(at, static_cast<char>(value));
      Result<ElfFile> file = image.read();
      EXPECT_TRUE(file || file.error().code == EBADMSG || file.error().code == ENOEXEC);
    }
    image.put(at, bytes[at]);
  }
  EXPECT_TRUE(image.read());
}

TEST(ElfFile, ManyBytesAtRandom) {
  std::string bytes = small_program(true);
  std::mt19937 random(17);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 8; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    Result<ElfFile> file = Image(damaged).read();
    EXPECT_TRUE(file || file.error().code == EBADMSG || file.error().code == ENOEXEC);
  }
}

}  // namespace
}  // namespace zazen
