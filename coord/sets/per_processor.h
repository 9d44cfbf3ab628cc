// ZAZEN_PER_PROCESSOR: the function has two versions, one for any processor and one for those
// with AVX2 and BMI. The loader chooses. The second version of a loop over bits is two to five
// times as fast.
//
// A test compiles only the first one. So do ThreadSanitizer, which is not ready when the loader
// chooses, and clang.
#pragma once

#if defined(__x86_64__) && !defined(ZAZEN_ANY_PROCESSOR) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define ZAZEN_PER_PROCESSOR [[gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define ZAZEN_PER_PROCESSOR
#endif
