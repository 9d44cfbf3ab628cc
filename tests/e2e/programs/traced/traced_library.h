/* A library that reads files for its caller, in the caller's thread or in one of its own. */
#pragma once
#include <stddef.h>

long library_reads(const char* path, void* out, size_t size);
long library_reads_in_thread(const char* path, void* out, size_t size);
