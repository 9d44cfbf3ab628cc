// The loader's functions, as every glibc from 2.31 on has them: before 2.34 they were libdl's, and
// are null in a program that was started without that library. <dlfcn.h> alone would bind to
// names that an older glibc lacks, and then the loader refuses to start the program.
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
