/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets Criterion run under ThreadSanitizer. BoxFort, Criterion's sandbox, maps the memory that it shares with
 * its test processes at 0x200000000000 + 2^24 * (rand_r() & 0x3fffff) and gives up after ten tries;
 * ThreadSanitizer allows an application's mappings on x86-64 only at the places that executables, heap and
 * libraries have. This rand_r() takes the place of the C library's in the test programs and picks from
 * 0x550000000000 up to 0x555000000000: allowed, and below where the kernel puts executables. */
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define TSAN_BUILD
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define TSAN_BUILD
#endif

#ifdef TSAN_BUILD
#define FIRST_SLOT 0x350000u
#define SLOTS      0x5000u

int rand_r(unsigned int *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int)(FIRST_SLOT + (*seed >> 8) % SLOTS);
}
#endif
