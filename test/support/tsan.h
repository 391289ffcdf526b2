/* SPDX-License-Identifier: BSD-2-Clause */
/* What ThreadSanitizer does not do. */
#ifndef NORNIC_TEST_SUPPORT_TSAN_H
#define NORNIC_TEST_SUPPORT_TSAN_H

#include <criterion/criterion.h>

/* For tests whose child opens a device. */
static inline void tsan_skip_threads_of_a_child(void)
{
#ifdef __SANITIZE_THREAD__
    cr_skip_test("a sanitizer: ThreadSanitizer starts no thread in the child of a process that has threads");
#endif
}

#endif
