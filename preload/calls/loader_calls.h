// The loader's functions, for every glibc from 2.31 on. In glibc older than 2.34 they belong to
// libdl, and are null in a program that was started without that library. <dlfcn.h> alone would
// bind to names that an older glibc lacks; the loader would then refuse to start the program.
#pragma once
#include <dlfcn.h>

extern "C" {
__attribute__((weak)) void* dlopen(const char*, int);
__attribute__((weak)) void* dlsym(void*, const char*);
__attribute__((weak)) char* dlerror(void);
}
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
