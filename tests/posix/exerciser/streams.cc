// stdio: libc opens and reads inside itself, where no hook of read or open sees it.
#include <string.h>
#include <unistd.h>

#include "actor.h"

namespace exerciser {
namespace {

int flags_of(const std::string& mode) {
  bool both = mode.find('+') != std::string::npos;
  return both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
}

}  // namespace

void Actor::open_stream() {
  make_room();
  Name name = any_name(Spelling::kPath);
  std::string mode = "r";
  if (chance(20)) mode += "b";
  if (chance(20)) mode += "e";
  if (chance(10)) mode += "m";
  if (name.own && name.frame >= 0 && has("changes")) {
    if (chance(10)) mode = "r+";
    if (chance(5)) mode = "w";
    if (chance(5)) mode = "a";
    if (chance(5)) mode = "wx";
  }
  note_name(name);
  journal_.add(" %s", mode.c_str());
  if (mode[0] != 'r') sever(name.frame), spend(name.frame);
  FILE* stream = chance(50) ? fopen(name.path.c_str(), mode.c_str())
                            : fopen64(name.path.c_str(), mode.c_str());
  if (stream == nullptr) return journal_.result(-1);
  int fd = fileno(stream);
  note_number(fd);
  journal_.add(" %o %d", static_cast<unsigned>(fcntl(fd, F_GETFL)), fcntl(fd, F_GETFD));
  Slot slot{.fd = fd, .stream = stream, .flags = flags_of(mode), .name = name};
  note_fd(slot);
  keep(fd, stream, slot.flags, name);
  if (mode[0] == 'r') return;
  std::string bytes = make_bytes(random(3000));
  journal_.add(" wrote %zu", fwrite(bytes.data(), 1, bytes.size(), stream));
  journal_.result(fflush(stream));
  note_own(name.frame);
}

void Actor::reopen_stream() {
  Slot* slot = any_slot(true);
  if (slot == nullptr) return;
  note_slot(*slot);
  Name name = any_name(Spelling::kPath);
  note_name(name);
  FILE* stream = chance(50) ? freopen(name.path.c_str(), "r", slot->stream)
                            : freopen64(name.path.c_str(), "r", slot->stream);
  if (stream == nullptr) {
    journal_.result(-1);
    fclose(slot->stream);  // its file is closed, its memory is not free yet
    *slot = {};
    return;
  }
  *slot = {.fd = fileno(stream), .stream = stream, .name = name, .opened_at = count_};
  note_number(slot->fd);
  note_fd(*slot);
}

void Actor::use_stream() {
  Slot* slot = any_slot(true);
  if (slot == nullptr) return;
  note_slot(*slot);
  FILE* stream = slot->stream;
  char bytes[5000];
  switch (random(6)) {
    case 0: {
      std::size_t count = static_cast<std::size_t>(random(sizeof bytes));
      if (slot->writes()) fseek(stream, 0, SEEK_CUR);  // what C asks for between the two
      std::size_t got = fread(bytes, 1, count, stream);
      journal_.add(" %zu", got);
      journal_.data(bytes, static_cast<long>(got));
      break;
    }
    case 1:
      journal_.result(fseek(stream, random(kMaxBytes), SEEK_SET));
      break;
    case 2:
      journal_.result(fseek(stream, -random(100), SEEK_END));
      break;
    case 3: {
      if (slot->writes()) break;
      int c = getc(stream);
      journal_.add(" %d %d", c, ungetc(c, stream));
      journal_.add(" %d", getc(stream));
      break;
    }
    case 4:
      rewind(stream);
      break;
    default: {
      if (slot->writes()) break;
      memset(bytes, 0, sizeof bytes);
      char* line = fgets(bytes, sizeof bytes, stream);
      journal_.data(bytes, line == nullptr ? 0 : static_cast<long>(sizeof bytes));
    }
  }
  journal_.add(" at %ld eof %d error %d", ftell(stream), feof(stream) != 0,
               ferror(stream) != 0);
}

}  // namespace exerciser
