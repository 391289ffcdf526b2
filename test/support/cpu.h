/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processor a test runs on, where it matters who preempts whom. */
#ifndef NORNIC_TEST_SUPPORT_CPU_H
#define NORNIC_TEST_SUPPORT_CPU_H

/* This thread, and those that it starts from now on, run on the first processor that it may use, and on no
 * other. Fails the test if that cannot be had. */
void cpu_stay_on_first(void);

#endif
