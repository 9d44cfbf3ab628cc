// Adler-32, as in zlib: short enough for every language here, and Python has it built in.
#pragma once
#include <stddef.h>

static unsigned long adler_update(unsigned long adler, const unsigned char* bytes,
                                  size_t count) {
  unsigned long a = adler & 0xffff, b = adler >> 16;
  for (size_t i = 0; i < count; ++i) {
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}
